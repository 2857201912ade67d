"""Description only: bodies, joints, loads, parameters and inputs. No equations here."""

from kane.model import model_form as model_form  # which tells pickle and deepcopy what models are
