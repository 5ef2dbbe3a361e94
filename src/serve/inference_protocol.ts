/**
 * The Open Inference Protocol, version 2, with its binary extension: `/v2/models/NAME[/versions/V][/ready | /infer]`.
 */
import { isPlainObject } from "../engine/core/nest.ts";
import type { NdArray } from "../engine/core/nd_array.ts";
import { isShape } from "../engine/core/shape.ts";
import { arrayFromWire, arrayToWire, DATATYPES, dtypeOf } from "./binary_tensors.ts";
import { type Answer, type Fields, JSON_FIELDS } from "./answer.ts";
import { HttpError } from "./http_error.ts";
import { checkNames, type ModelVersion } from "./model_entry.ts";
import type { Specs } from "./servable.ts";
import { JsonText } from "./json_text.ts";
import { isList } from "./long_text.ts";
import { NumberGrid } from "./number_grid.ts";
import { readJson } from "./json_reader.ts";
import { Slices } from "./slices.ts";
import { arrayOf, checkRows, shown } from "./values.ts";

/** The header with the number of bytes of a body that are JSON; tensors follow them. */
export const JSON_LENGTH = "inference-header-content-length";

/** Makes the answer to `GET /v2/models/NAME`. */
export function modelJson(version: ModelVersion, versions: readonly ModelVersion[]): unknown {
  const { inputs, outputs } = version.signatures.get(version.signatureName(undefined))!;
  return {
    name: version.model,
    versions: versions.map((v) => v.version),
    platform: "weft",
    inputs: tensorsJson(inputs),
    outputs: tensorsJson(outputs),
  };
}

function tensorsJson(specs: Specs): unknown {
  return Object.entries(specs).map(([name, { dtype, shape }]) => ({
    name,
    datatype: DATATYPES[dtype] ?? dtype.toUpperCase(),
    shape: (shape ?? [null]).map((d) => d ?? -1),
  }));
}

/** Most inputs, and most outputs, of a request. */
const MOST_TENSORS = 1024;

interface InferRequest {
  readonly id?: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly inputs: readonly InferInput[];
  readonly outputs?: readonly InferOutput[];
}

interface InferInput {
  readonly name: string;
  readonly shape: readonly number[];
  readonly datatype: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly data?: unknown;
}

interface InferOutput {
  readonly name: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** Answers `POST …/infer`. `jsonLength` is the value of {@linkcode JSON_LENGTH}, null where the body is JSON only. */
export async function infer(
  version: ModelVersion,
  body: Uint8Array<ArrayBuffer>,
  { jsonLength, slices }: { readonly jsonLength: string | null; readonly slices: Slices },
): Promise<Answer> {
  const [json, binary] = splitBody(body, jsonLength);
  const { signal } = slices;
  const request = checkRequest(await readJson(json, slices));
  const name = version.signatureName(request.parameters?.signature_name);
  const signature = version.signatures.get(name)!;
  checkNames(request.inputs.map((i) => i.name), signature, version.model);
  const arrays: Record<string, NdArray> = {};
  let at = 0;
  for (const input of request.inputs) {
    const size = binarySize(input);
    checkRows(input.shape, body.length, `input "${input.name}"`);
    const bytes = binary.subarray(at, at + (size ?? 0));
    arrays[input.name] = await readInput(input, signature.inputs, { bytes, slices });
    at += size ?? 0;
  }
  if (at !== binary.length) {
    throw new HttpError(
      400,
      `Cannot read the request: ${binary.length} bytes follow its JSON, its inputs tell of ${at}`,
    );
  }
  const outputs = await version.run(name, arrays, signal);
  return await writeOutputs(version, request, { outputs, slices: new Slices(signal) });
}

function splitBody(
  body: Uint8Array<ArrayBuffer>,
  jsonLength: string | null,
): [Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>] {
  if (jsonLength === null) return [body, body.subarray(body.length)];
  const length = Number(jsonLength);
  if (!/^\d+$/.test(jsonLength) || length > body.length) {
    throw new HttpError(
      400,
      `Cannot read the request: ${JSON_LENGTH} is "${jsonLength}", the body has ${body.length} bytes`,
    );
  }
  return [body.subarray(0, length), body.subarray(length)];
}

function checkRequest(value: unknown): InferRequest {
  const refuse = (why: string): never => {
    throw new HttpError(400, `Cannot read the request: ${why}`);
  };
  if (!isPlainObject(value)) return refuse("wanted a JSON object");
  const { inputs, outputs, parameters, id } = value;
  for (const [list, of] of [[inputs, "inputs"], [outputs, "outputs"]] as const) {
    if (isList(list) && list.length > MOST_TENSORS) {
      return refuse(`"${of}" has ${list.length} elements, wanted at most ${MOST_TENSORS}`);
    }
  }
  if (!Array.isArray(inputs)) return refuse('wanted a list "inputs"');
  const names = new Set<unknown>();
  for (const [i, input] of inputs.entries()) {
    if (!isPlainObject(input) || typeof input.name !== "string") {
      return refuse(`input ${i} has no name`);
    }
    if (names.has(input.name)) return refuse(`input "${input.name}" is there twice`);
    names.add(input.name);
    if (!isShape(input.shape)) {
      return refuse(`input "${input.name}" wants a shape of whole numbers`);
    }
    if (input.parameters !== undefined && !isPlainObject(input.parameters)) {
      return refuse(`the parameters of input "${input.name}" are no object`);
    }
  }
  if (parameters !== undefined && !isPlainObject(parameters)) {
    return refuse('"parameters" is no object');
  }
  if (id !== undefined && typeof id !== "string") return refuse('"id" is no string');
  if (
    outputs !== undefined &&
    !(Array.isArray(outputs) &&
      outputs.every((o) =>
        isPlainObject(o) && typeof o.name === "string" &&
        (o.parameters === undefined || isPlainObject(o.parameters))
      ))
  ) {
    return refuse('wanted "outputs" to be a list of objects with names');
  }
  // An output for each of some bytes of a request makes an answer without end.
  const asked = (outputs ?? []).map(({ name }) => name);
  const twice = asked.find((name, i) => asked.indexOf(name) !== i);
  if (twice !== undefined) return refuse(`output "${twice}" is there twice`);
  return value as unknown as InferRequest;
}

/** Returns the number of an input's bytes after the JSON; null where the JSON holds its values. */
function binarySize({ name, parameters }: InferInput): number | null {
  const size = parameters?.binary_data_size;
  if (size === undefined) return null;
  if (Number.isInteger(size) && (size as number) >= 0) return size as number;
  throw new HttpError(
    400,
    `Cannot read input "${name}": its binary_data_size is ${shown(size)}, wanted a number of bytes`,
  );
}

async function readInput(
  input: InferInput,
  specs: Specs,
  { bytes, slices }: { readonly bytes: Uint8Array<ArrayBuffer>; readonly slices: Slices },
): Promise<NdArray> {
  const what = `input "${input.name}"`;
  const dtype = dtypeOf(input.datatype, what);
  const wanted = specs[input.name].dtype;
  if (dtype !== wanted) {
    throw new HttpError(
      400,
      `Cannot read ${what}: its datatype is ${input.datatype}, wanted ${DATATYPES[wanted]}`,
    );
  }
  if (binarySize(input) !== null) {
    return await arrayFromWire({ bytes, shape: input.shape, dtype, what }, slices);
  }
  if (!isList(input.data) && !(input.data instanceof NumberGrid)) {
    throw new HttpError(400, `Cannot read ${what}: wanted a list "data"`);
  }
  return await arrayOf({ value: input.data, shape: input.shape, dtype, what }, slices);
}

async function writeOutputs(
  version: ModelVersion,
  request: InferRequest,
  { outputs, slices }: {
    readonly outputs: Readonly<Record<string, NdArray>>;
    readonly slices: Slices;
  },
): Promise<Answer> {
  const wanted: readonly InferOutput[] = request.outputs?.length
    ? request.outputs
    : Object.keys(outputs).map((name) => ({ name }));
  const isBinary = request.parameters?.binary_data_output === true;
  const parts: Uint8Array[] = [];
  const id = request.id === undefined ? "" : `"id":${JSON.stringify(request.id)},`;
  const out = new JsonText(slices).add(
    `{${id}"model_name":${
      JSON.stringify(version.model)
    },"model_version":"${version.version}","outputs":[`,
  );
  for (const [k, { name, parameters }] of wanted.entries()) {
    if (!Object.hasOwn(outputs, name)) {
      throw new HttpError(
        400,
        `Cannot give output "${name}" of ${version.model}: its outputs are ${
          Object.keys(outputs).join(", ")
        }`,
      );
    }
    const array = outputs[name];
    out.add(
      `${k > 0 ? "," : ""}{"name":${JSON.stringify(name)},"datatype":"${
        DATATYPES[array.dtype] ?? array.dtype.toUpperCase()
      }","shape":[${array.shape}],`,
    );
    if (parameters?.binary_data ?? isBinary) {
      const bytes = arrayToWire(array);
      parts.push(bytes);
      out.add(`"parameters":{"binary_data_size":${bytes.length}}}`);
    } else (await out.add('"data":').flat(array, { isStrict: true })).add("}");
  }
  out.add("]}");
  const body = await out.bytes(...parts);
  if (parts.length === 0) return { status: 200, headers: JSON_FIELDS, body };
  const binary = parts.reduce((n, { length }) => n + length, 0);
  const headers: Fields = [
    ["content-type", "application/octet-stream"],
    [JSON_LENGTH, `${body.length - binary}`],
  ];
  return { status: 200, headers, body };
}
