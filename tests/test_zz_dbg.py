import tests.test_start_up as t


def test_x(convened, tmp_path):
    code, seen = t.modules_after(convened, tmp_path, "respond", "Yes: we want it.", "--as", "owl")
    open("/tmp/wt/dbg_out_web.txt", "w").write(
        "\n".join(x.split("/council/")[-1] for x in t.files_entered(seen))
    )
    print("N", len(t.files_entered(seen)))
