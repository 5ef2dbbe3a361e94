/** Pipelines that end in compressing: the op is taken out, as elements are written when they are sent. */
import type {
  FunctionDefJson,
  GraphDefJson,
  NodeDefJson,
} from "../../engine/graph/graph_def_json.ts";

const COMPRESS = "CompressElement";

/** The graph with functions that give what they would have compressed, and whether there were any. */
export function uncompressed(def: GraphDefJson): { def: GraphDefJson; compressed: boolean } {
  const library = def.library?.function ?? [];
  const found = new Map(
    library.flatMap((f) => {
      const node = f.nodeDef.find((n) => n.op === COMPRESS);
      return node === undefined ? [] : [[f.signature.name, node] as const];
    }),
  );
  if (found.size === 0) return { def, compressed: false };
  const types = new Map([...found].map(([name, node]) => [name, typesOf(node)]));
  return {
    compressed: true,
    def: {
      ...def,
      node: def.node.map((n) => plainOutput(n, types)),
      library: {
        function: library.map((f) => {
          const node = found.get(f.signature.name);
          return node === undefined ? f : plainFunction(f, node);
        }),
      },
    },
  };
}

function typesOf(node: NodeDefJson): readonly string[] {
  return node.attr?.input_types?.list?.type ?? [];
}

function plainFunction(f: FunctionDefJson, compress: NodeDefJson): FunctionDefJson {
  const results = (compress.input ?? []).filter((i) => !i.startsWith("^"));
  const outputArg = typesOf(compress).map((type, i) => ({ name: `component_${i}`, type }));
  // The rest of the path to the result is never read, and has no type here.
  const dropped = new Set([compress.name]);
  for (const n of f.nodeDef) {
    if ((n.input ?? []).some((i) => dropped.has(i.split(":")[0]))) dropped.add(n.name);
  }
  return {
    ...f,
    signature: { ...f.signature, outputArg },
    nodeDef: f.nodeDef.filter((n) => !dropped.has(n.name)).map((n) => ({
      ...n,
      ...(n.input &&
        { input: n.input.filter((i) => !dropped.has(i.replace(/^\^/, "").split(":")[0])) }),
    })),
    ret: Object.fromEntries(outputArg.map(({ name }, i) => [name, results[i]])),
  };
}

/** A stage that calls such a function declares its components, not the one variant they became. */
function plainOutput(n: NodeDefJson, types: ReadonlyMap<string, readonly string[]>): NodeDefJson {
  const own = types.get(n.attr?.f?.func?.name ?? "");
  if (own === undefined) return n;
  const shape = own.map(() => ({ unknownRank: true }));
  return {
    ...n,
    attr: {
      ...n.attr,
      output_types: { list: { type: [...own] } },
      output_shapes: { list: { shape } },
    },
  };
}
