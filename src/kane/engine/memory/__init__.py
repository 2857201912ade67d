"""Memory of compiled programs and kernels, declared once; views and a page of docs are generated from it."""
