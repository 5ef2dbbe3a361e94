/** GraphDefs in TensorFlow's files: binary, text (`.pbtxt`) or JSON. */
import "../graph/rules/gradients.ts";
import "../graph/rules/recurrent.ts";
import "../graph/rules/sparse_split.ts";
import { wantList, wantObject } from "../../engine/core/arguments.ts";
import { fromJson, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { DataLossError } from "../../engine/core/errors.ts";
import type { GraphDefJson } from "../../engine/graph/graph_def_json.ts";
import { kindOfFile } from "../../library/io/kinds/file_kinds.ts";
import { naming } from "../../library/io/naming.ts";
import { decode } from "./decode.ts";
import { graphDefOf } from "./from_message.ts";
import { type GraphDef, GraphDefSchema } from "../proto/graph_pb.ts";
import { type FileSource, readSource } from "../../library/io/source.ts";
import { parseText } from "./text_format.ts";
import { graphDefMessage } from "./to_message.ts";

/**
 * Reads a GraphDef: binary (`.pb`), text (`.pbtxt`) or JSON as protobuf prints it, told apart by their content. The
 * result is for `tf.importGraphDef`; constants are views into the file's bytes. Rejects with `NotFoundError` where
 * there is no such file, `DataLossError` where it holds no GraphDef.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { encodeGraphDef, readGraphDef } from "@weft/weft/tf";
 * const g = new tf.Graph();
 * g.asDefault(() => tf.add(tf.placeholder("float32", [], "x"), tf.constant(1)));
 * const def = await readGraphDef(encodeGraphDef(g.toGraphDef()));
 * const [y] = new tf.Graph().asDefault(() => tf.importGraphDef(def, { returnElements: ["AddV2:0"] })) as tf.Tensor[];
 * console.log(await new tf.Session({ graph: y.graph as tf.Graph }).run(y, { feeds: { "import/x:0": 2 } })); // 3
 * ```
 */
export async function readGraphDef(source: FileSource): Promise<GraphDefJson> {
  const { bytes, name } = await readSource(source);
  return naming(name, () => graphDefOf(parse(bytes, name)));
}

function parse(bytes: Uint8Array, name: string): GraphDef {
  const form = formOf(bytes);
  if (form === "binary") return decode(GraphDefSchema, bytes, name);
  const text = new TextDecoder().decode(bytes);
  if (form === "text") return parsedText(text, bytes, name);
  try {
    return fromJson(GraphDefSchema, JSON.parse(text) as JsonValue, { ignoreUnknownFields: true });
  } catch (e) {
    throw new DataLossError(
      `Cannot read ${name}: its JSON is no GraphDef (${(e as Error).message})`,
      { cause: e },
    );
  }
}

/** Parses a text. Throws `DataLossError`, which says what the text looks like where it is of a known kind. */
function parsedText(text: string, bytes: Uint8Array, name: string): GraphDef {
  try {
    return parseText(GraphDefSchema, text, name);
  } catch (cause) {
    const kind = kindOfFile(bytes);
    if (kind === null || kind.startsWith("a text")) throw cause;
    const message = `Cannot read ${name}: it is no GraphDef: it looks like ${kind}`;
    throw new DataLossError(message, { cause });
  }
}

/**
 * Detects the form of a file by its first bytes: a binary one has a control character among them, a length at the
 * latest.
 */
function formOf(bytes: Uint8Array): "binary" | "text" | "json" {
  const head = bytes.subarray(0, 4096);
  if (head.length === 0) return "binary";
  // Tab, line feed and carriage return are the only control characters in a text.
  if (head.some((b) => b < 32 && b !== 9 && b !== 10 && b !== 13)) return "binary";
  const first = head.find((b) => b > 32);
  return first === 0x7b /* { */ ? "json" : "text";
}

/**
 * Encodes a GraphDef as in TensorFlow's `.pb` files. Takes the results of `graph.toGraphDef()` and {@linkcode
 * readGraphDef}. Throws `ValueError` for a dtype or an attribute that files cannot hold.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { encodeGraphDef } from "@weft/weft/tf";
 * const g = new tf.Graph();
 * g.asDefault(() => tf.placeholder("float32", [2], "x"));
 * console.log(encodeGraphDef(g.toGraphDef())[0]); // 10
 * ```
 */
export function encodeGraphDef(def: GraphDefJson): Uint8Array {
  wantObject(def, "def", "encodeGraphDef");
  wantList(def.node, "def.node", "encodeGraphDef", "nodes");
  return toBinary(GraphDefSchema, graphDefMessage(def));
}
