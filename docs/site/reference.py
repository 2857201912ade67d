def write_reference(stage):
    stage.write("reference/index.md", "# Reference\n")
