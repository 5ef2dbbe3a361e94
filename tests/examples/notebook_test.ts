/** The notebook's cells, run one after the other as a program: each shows what lies beside it as its output. */
import { assert, assertEquals } from "@std/assert";
import { ROOT } from "../../tools/files.ts";

/** A cell of the notebook. */
interface Cell {
  readonly cell_type: string;
  readonly source: readonly string[];
  readonly outputs?: readonly { readonly data: Readonly<Record<string, string>> }[];
}

/** Shows the last value of a cell, as a notebook does. */
function shownCell(source: readonly string[]): string {
  const lines = source.join("").trimEnd().split("\n"), last = lines.pop()!;
  return [...lines, `await show(${last.replace(/;$/, "")});`].join("\n");
}

Deno.test("the notebook's cells run and show what the notebook says", async () => {
  const { cells } = JSON.parse(
    await Deno.readTextFile(new URL("examples/notebook.ipynb", ROOT)),
  ) as { readonly cells: readonly Cell[] };
  const codes = cells.filter(({ cell_type }) => cell_type === "code");
  // The package's name is that of the sources here; the file lies elsewhere.
  const library = JSON.stringify(new URL("mod.ts", ROOT).href);
  const program = `const shown = [];
async function show(x) {
  shown.push(await x[Symbol.for("Jupyter.display")]());
}
${codes.map(({ source }) => shownCell(source)).join("\n").replace('"@weft/weft"', library)}
console.log(JSON.stringify(shown));
`;
  const folder = await Deno.makeTempDir({ prefix: "weft-notebook-" });
  try {
    await Deno.writeTextFile(`${folder}/cells.ts`, program);
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--no-prompt", "--no-check", "--no-config", `${folder}/cells.ts`],
      env: { NO_COLOR: "1" },
    }).output();
    assertEquals([code, new TextDecoder().decode(stderr)], [0, ""]);
    const shown = JSON.parse(new TextDecoder().decode(stdout)) as Record<string, string>[];
    const wanted = codes.map(({ outputs }) => outputs![0]!.data);
    assertEquals(shown.map((s) => Object.keys(s)), wanted.map((s) => Object.keys(s)));
    // Numbers may differ in their last digits; the names in pictures and tables do not.
    const words = (text: string) => text.match(/[A-Za-z_]+\(?/g);
    shown.forEach((s, i) => {
      for (const kind of ["text/html", "image/svg+xml"]) {
        assertEquals(words(s[kind] ?? ""), words(wanted[i]![kind] ?? ""));
      }
    });
    assert(shown.some((s) => (s["image/svg+xml"] ?? "").includes("sortAll()")));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
