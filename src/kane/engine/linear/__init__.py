"""Dense and sparse factorizations: arrays in, arrays and a rank out."""
