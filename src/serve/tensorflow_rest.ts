/** TensorFlow Serving's REST interface: `/v1/models/NAME[/versions/N][:predict | /metadata]`. */
import { DTYPES } from "../engine/core/dtype.ts";
import { isPlainObject } from "../engine/core/nest.ts";
import type { NdArray } from "../engine/core/nd_array.ts";
import { HttpError } from "./http_error.ts";
import { checkNames, type ModelVersion } from "./model_entry.ts";
import type { Servable, Specs } from "./servable.ts";
import { isBytesOutput, JsonText } from "./json_text.ts";
import { isList, LongList } from "./long_text.ts";
import { NumberGrid } from "./number_grid.ts";
import { readJson } from "./json_reader.ts";
import { Slices } from "./slices.ts";
import { arrayOf, checkRows } from "./values.ts";

/** Makes the answer to `GET /v1/models/NAME`. */
export function statusJson(versions: readonly ModelVersion[], isReady: boolean): unknown {
  return {
    model_version_status: versions.map(({ version }) => ({
      version,
      state: isReady ? "AVAILABLE" : "UNLOADING",
      status: { error_code: "OK", error_message: "" },
    })),
  };
}

/** Makes the answer to `GET …/metadata`. */
export function metadataJson({ model, version, signatures }: ModelVersion): unknown {
  const defs = [...signatures].map(([name, { inputs, outputs }]) => [name, {
    inputs: tensorInfos(inputs),
    outputs: tensorInfos(outputs),
    method_name: "tensorflow/serving/predict",
  }]);
  return {
    model_spec: { name: model, signature_name: "", version },
    metadata: { signature_def: { signature_def: Object.fromEntries(defs) } },
  };
}

function tensorInfos(specs: Specs): unknown {
  return Object.fromEntries(
    Object.entries(specs).map(([name, { dtype, shape }]) => [name, {
      dtype: DTYPES[dtype].tfEnum,
      tensor_shape: {
        dim: (shape ?? []).map((d) => ({ size: `${d ?? -1}`, name: "" })),
        unknown_rank: shape === null,
      },
      name: `${name}:0`,
    }]),
  );
}

/** Answers `POST …:predict`. */
export async function predict(
  version: ModelVersion,
  body: Uint8Array,
  slices: Slices,
): Promise<JsonText> {
  const { signal } = slices;
  const request = await readJson(body, slices);
  if (!isPlainObject(request)) {
    throw new HttpError(400, "Cannot read the request: wanted a JSON object");
  }
  const { instances, inputs, signature_name: given } = request;
  if ((instances === undefined) === (inputs === undefined)) {
    throw new HttpError(
      400,
      'Cannot read the request: wanted one of "instances" (a list of rows) and "inputs" (columns)',
    );
  }
  const name = version.signatureName(given);
  const signature = version.signatures.get(name)!;
  const columns = inputs === undefined
    ? await columnsOfRows(instances, signature, { model: version.model, slices })
    : columnsOf(inputs, signature);
  checkNames(Object.keys(columns), signature, version.model);
  const arrays: Record<string, NdArray> = {};
  for (const [key, { dtype }] of Object.entries(signature.inputs)) {
    const what = `input "${key}"`;
    arrays[key] = await arrayOf({ value: columns[key], dtype, what }, slices);
    checkRows(arrays[key].shape, body.length, what);
  }
  const outputs = await version.run(name, arrays, signal);
  const out = new JsonText(new Slices(signal));
  out.add(inputs === undefined ? '{"predictions":' : '{"outputs":');
  if (inputs === undefined) await addRows(out, outputs);
  else await addColumns(out, outputs);
  return out.add("}");
}

/** Returns the sent columns by name; plain values belong to the only input. */
function columnsOf(inputs: unknown, signature: Servable): Record<string, unknown> {
  if (isNamed(inputs)) return inputs;
  return { [onlyInput(signature)]: inputs };
}

/** True for a record of values; a string's `{ "b64": … }` is a value itself. */
function isNamed(value: unknown): value is Record<string, unknown> {
  return isPlainObject(value) && !(Object.keys(value).length === 1 && "b64" in value);
}

function onlyInput({ inputs }: Servable): string {
  const names = Object.keys(inputs);
  if (names.length === 1) return names[0];
  throw new HttpError(
    400,
    `Cannot tell inputs apart: wanted an object with ${names.map((n) => `"${n}"`).join(", ")}`,
  );
}

/** Rows between two looks at the clock. */
const ROWS = 4096;

async function columnsOfRows(
  rows: unknown,
  signature: Servable,
  { model, slices }: { readonly model: string; readonly slices: Slices },
): Promise<Record<string, unknown>> {
  if (rows instanceof NumberGrid) return { [onlyInput(signature)]: rows };
  if (!isList(rows) || rows.length === 0) {
    throw new HttpError(400, 'Cannot read "instances": wanted a list with at least one row');
  }
  const first = rows.at(0);
  if (!isNamed(first)) return { [onlyInput(signature)]: rows };
  const names = Object.keys(first);
  checkNames(names, signature, model);
  const columns: Record<string, LongList> = Object.fromEntries(
    names.map((n) => [n, new LongList()]),
  );
  for (let i = 0; i < rows.length; i++) {
    const row = rows.at(i);
    if (!isNamed(row) || Object.keys(row).length !== names.length) {
      throw new HttpError(400, `Cannot read instance ${i}: it has not the inputs of the first`);
    }
    for (const name of names) {
      if (!Object.hasOwn(row, name)) {
        throw new HttpError(400, `Cannot read instance ${i}: it has no "${name}"`);
      }
      columns[name].push(row[name]);
    }
    if ((i + 1) % ROWS === 0) await slices.turn();
  }
  return columns;
}

/** Writes the rows of the outputs: values where there is one output, objects where there are several. */
async function addRows(out: JsonText, outputs: Readonly<Record<string, NdArray>>): Promise<void> {
  const entries = Object.entries(outputs);
  const [rows] = entries[0][1].shape;
  if (rows === undefined || entries.some(([, a]) => a.shape[0] !== rows)) {
    throw new HttpError(
      400,
      'Cannot write "predictions": the outputs have no common number of rows, ask with "inputs" instead of "instances"',
    );
  }
  if (entries.length === 1) {
    const [[name, a]] = entries;
    await out.nested(a, { isBase64: isBytesOutput(name, a) });
    return;
  }
  out.add("[");
  for (let i = 0; i < rows; i++) {
    out.add(i > 0 ? "," : "");
    const add = ([name, a]: [string, NdArray]): Promise<JsonText> =>
      out.nested(a, {
        shape: a.shape.slice(1),
        from: i * (a.size / rows),
        isBase64: isBytesOutput(name, a),
      });
    await addObject(out, entries, add);
    await out.pause();
  }
  out.add("]");
}

async function addColumns(
  out: JsonText,
  outputs: Readonly<Record<string, NdArray>>,
): Promise<void> {
  const entries = Object.entries(outputs);
  const add = ([name, a]: [string, NdArray]): Promise<JsonText> =>
    out.nested(a, { isBase64: isBytesOutput(name, a) });
  if (entries.length === 1) await add(entries[0]);
  else await addObject(out, entries, add);
}

async function addObject(
  out: JsonText,
  entries: readonly [string, NdArray][],
  add: (entry: [string, NdArray]) => Promise<unknown>,
): Promise<void> {
  for (const [k, entry] of entries.entries()) {
    out.add(`${k === 0 ? "{" : ","}${JSON.stringify(entry[0])}:`);
    await add(entry);
  }
  out.add("}");
}
