"""Symbols of the functions of a compiled program."""

MAIN, ROWS_LOOP, STAGE, STAGES = "kane_main", "kane_rows", "kane_stage", "kane_stages"
