"""Description only: bodies, joints, loads, parameters and inputs. No equations here."""
