"""The certificate of a model: independent routes agree, laws of nature hold, to how many digits."""
