"""What the benchmarks keep and print: one run for each processor, the newest first."""

from benchmarks import readme
from benchmarks.report import Table
from benchmarks.results import Results, document
from benchmarks.timing import Figure


def run(processor, when, seconds):
    table = Table("Calls", ("robot", "kane", "x"))
    ratio = table.ratio("Panda 7R, inverse", "traced C", Figure((seconds,)), Figure((3e-7,)))
    table.rows.append(("Panda", f"{seconds}", ratio))
    return Results(processor, [when], {"calls": table})


def test_the_last_run_on_each_processor_is_kept_and_printed_the_newest_first(tmp_path):
    run("AMD EPYC (model 17)", "2026-11-20 21:41 UTC", 1e-7).save(tmp_path)
    run("Intel(R) Xeon(R) @ 2.10GHz", "2026-11-21 10:00 UTC", 2e-7).save(tmp_path)
    run("AMD EPYC (model 17)", "2026-11-22 08:00 UTC", 5e-8).save(tmp_path)
    found = Results.load(tmp_path)
    assert [(r.processor, r.conditions) for r in found] == [
        ("AMD EPYC (model 17)", ["2026-11-22 08:00 UTC"]),
        ("Intel(R) Xeon(R) @ 2.10GHz", ["2026-11-21 10:00 UTC"]),
    ]
    text = document(found)
    assert text.index("# AMD EPYC (model 17)") < text.index("# Intel(R) Xeon(R) @ 2.10GHz")
    assert "6.00" in text  # 300 ns of the peer over 50
    assert "3.00" not in text  # what was found before on the same processor


def test_the_figures_of_the_readme_name_their_processor(tmp_path):
    page = tmp_path / "README.md"
    page.write_text(f"before\n{readme.BEGIN}\nold\n{readme.END}\nafter\n")
    readme.rewrite(page, run("AMD EPYC (model 17)", "2026-11-22 08:00 UTC", 5e-8))
    text = page.read_text()
    assert "on AMD EPYC (model 17); 2026-11-22 08:00 UTC" in text
    assert "50 ns" in text
    assert "old" not in text
