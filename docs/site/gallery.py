def write_gallery(stage, html):
    stage.write("gallery/index.md", "# Gallery\n")
