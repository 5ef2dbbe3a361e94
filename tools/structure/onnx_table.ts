/**
 * The table of ONNX's ops in `docs/onnx_ops.md`, written from the table that imports them.
 *
 * @module
 */

/** The document. */
export const DOCUMENT = "docs/onnx_ops.md";

/** Titles of operator sets by domain. */
const DOMAINS: Readonly<Record<string, string>> = {
  "": "ONNX's own (ai.onnx)",
  "ai.onnx.ml": "ai.onnx.ml",
  "ai.onnx.preview": "ai.onnx.preview",
  "com.microsoft": "onnxruntime's (com.microsoft)",
};

/** The text of the document. */
export async function onnxTableText(): Promise<string> {
  const { OPS } = await import("../../src/onnx/ops/table.ts");
  const domains = Map.groupBy(OPS, ({ domain = "" }) => domain);
  const sections = [...domains].sort(([a], [b]) => a < b ? -1 : 1).flatMap(([domain, entries]) => {
    const names = Map.groupBy(entries.filter(({ rule }) => rule !== null), ({ name }) => name);
    const ops = [...names].map(([name, versions]) => {
      const since = Math.min(...versions.map((v) => v.since));
      return since > 7 ? `\`${name}\` (${since})` : `\`${name}\``;
    }).toSorted();
    const refused = entries.filter(({ rule }) => rule === null);
    const reasons = Map.groupBy(refused, (entry) => entry.refused ?? "");
    return [
      ...ops.length === 0 ? [] : [
        `## ${DOMAINS[domain] ?? domain} (${ops.length})`,
        "",
        ops.join(", "),
        "",
      ],
      ...refused.length === 0 ? [] : [
        `## Refused of ${DOMAINS[domain] ?? domain}`,
        "",
        "| ops | reason |",
        "| --- | ------ |",
        ...[...reasons].map(([reason, list]) =>
          `| ${list.map(({ name }) => `\`${name}\``).toSorted().join(", ")} | ${reason} |`
        ),
        "",
      ],
    ];
  });
  return [
    "# ONNX's ops",
    "",
    "What `loadOnnx` takes, with the version of the operator set that an op is new in where that is above 7. A script takes the place of any other: see [Models of ONNX](onnx.md). `deno task op-table` writes this page.",
    "",
    ...sections,
    "All other ops are refused too: `UnimplementedError` names all of a model at once.",
    "",
  ].join("\n");
}
