"""Declaration of models: bodies, joints, loads, parameters and inputs. Equations are derived elsewhere."""

from kane.model import model_form as model_form  # registers how pickle and deepcopy handle models
