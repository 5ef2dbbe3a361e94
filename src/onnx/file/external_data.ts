/** Elements of tensors in files beside the model: given by the caller, or read from the model's own folder only. */
import { groupBy } from "../../engine/core/collections/group_by.ts";
import {
  DataLossError,
  InvalidArgumentError,
  NotFoundError,
  PermissionDeniedError,
} from "../../engine/core/errors.ts";
import { nodeFiles, placeOf } from "../../library/io/files.ts";
import type { LaterBytes } from "./byte_flow.ts";
import { openParts, type PartReader } from "../../library/io/random_access.ts";
import { type FileSource, readSource } from "../../library/io/source.ts";
import type { Graph, Model, Node, Tensor } from "../proto/onnx_pb.ts";
import { bytesOfTensor, externalPlace } from "./tensor_data.ts";

/**
 * A source of external data: files by the model's names for them, or a function that returns `length` bytes from
 * `offset` on of a named file.
 */
export type ExternalData =
  | Readonly<Record<string, FileSource>>
  | ((location: string, offset: number, length: number) => Uint8Array | Promise<Uint8Array>);

/** Finds the tensors of a model whose elements are in other files. */
export function externalTensors(model: Model): Tensor[] {
  const found: Tensor[] = [];
  const nodes = (list: readonly Node[]): void => {
    for (const { attribute } of list) {
      for (const { t, tensors, g, graphs } of attribute) {
        if (t !== undefined) found.push(t);
        found.push(...tensors);
        if (g !== undefined) graph(g);
        graphs.forEach(graph);
      }
    }
  };
  const graph = (g: Graph): void => {
    for (const t of g.initializer) found.push(t);
    nodes(g.node);
  };
  if (model.graph !== undefined) graph(model.graph);
  for (const f of model.functions) nodes(f.node);
  return found.filter((t) => t.dataLocation === 1);
}

/** Bytes of tensors by their list of external places: renamed tensors keep it. */
export type TensorBytes = Map<Tensor["externalData"], Uint8Array | LaterBytes>;

/** Reads parts of a named file. */
type Read = (location: string, offset: number, length: number) => Promise<Uint8Array>;

/**
 * Reads the elements of tensors in other files, or leaves them for later, and gives them to `use`; then the files are closed. `source` is
 * the model's own source. Rejects with `InvalidArgumentError` for files outside of the model's folder, `NotFoundError` for missing files,
 * `DataLossError` for short ones.
 */
export async function withExternal<T>(
  tensors: readonly Tensor[],
  { source, given, isLater = () => false }: {
    readonly source: FileSource;
    readonly given: ExternalData | undefined;
    readonly isLater?: (tensor: Tensor) => boolean;
  },
  use: (bytes: TensorBytes) => Promise<T>,
): Promise<T> {
  const out: TensorBytes = new Map(), open = new Map<string, PartReader>();
  const read = readerOf(source, given, open), places = tensors.map(placeIn);
  checkOverlaps(places);
  const known = new Map<string, Uint8Array>();
  const bytesOf = async (
    name: string,
    { location, offset, wanted }: Place,
  ): Promise<Uint8Array> => {
    const bytes = await read(location, offset, wanted);
    if (bytes.length === wanted) return bytes;
    throw new DataLossError(
      `Cannot read the tensor "${name}": received ${bytes.length} bytes of ${location}, wanted ${wanted}`,
    );
  };
  try {
    for (const [i, tensor] of tensors.entries()) {
      const place = places[i], { key, wanted } = place, { name } = tensor;
      if (wanted > 0 && isLater(tensor)) {
        out.set(tensor.externalData, { length: wanted, read: () => bytesOf(name, place) });
        continue;
      }
      const bytes = wanted === 0 ? new Uint8Array() : known.get(key) ?? await bytesOf(name, place);
      known.set(key, bytes);
      out.set(tensor.externalData, bytes);
    }
    return await use(out);
  } finally {
    for (const file of open.values()) await file.close();
  }
}

/** Bytes of a tensor in another file. */
interface Place {
  /** Equal for equal bytes. */
  readonly key: string;
  readonly location: string;
  readonly offset: number;
  /** Number of bytes. */
  readonly wanted: number;
}

function placeIn(tensor: Tensor): Place {
  const { location, offset, length } = externalPlace(tensor)!;
  const wanted = bytesOfTensor(tensor);
  if (length === null || length === wanted) {
    return { key: `${offset} ${wanted} ${location}`, location, offset, wanted };
  }
  throw new DataLossError(
    `Cannot read the tensor "${tensor.name}" of shape [${tensor.dims}]: it has ${length} bytes in ${location}, wanted ${wanted}`,
  );
}

/** Maximum bytes of tensors for each byte of a file: tensors may share bytes, but hostile files make many of few. */
const MOST_SHARED = 4;

function checkOverlaps(places: readonly Place[]): void {
  const distinct = new Map(places.map((p) => [p.key, p])).values();
  for (const [location, list] of groupBy(distinct, (p) => p.location)) {
    const total = list.reduce((n, p) => n + p.wanted, 0);
    const end = list.reduce((n, p) => Math.max(n, p.offset + p.wanted), 0);
    if (total <= MOST_SHARED * end) continue;
    throw new DataLossError(
      `Cannot read external data at "${location}": tensors of ${total} bytes overlap within ${end} bytes`,
    );
  }
}

function readerOf(
  source: FileSource,
  given: ExternalData | undefined,
  open: Map<string, PartReader>,
): Read {
  if (typeof given === "function") return async (...args) => await given(...args);
  const parts = async (location: string): Promise<PartReader> => {
    let file = open.get(location);
    if (file === undefined) {
      file = given !== undefined && Object.hasOwn(given, location)
        ? await partsOf(given[location])
        : await openParts(await besideModel(source, location));
      open.set(location, file);
    }
    return file;
  };
  return async (location, offset, length) => (await parts(location)).read(offset, length);
}

async function partsOf(source: FileSource): Promise<PartReader> {
  if (typeof source === "string") return await openParts(source);
  const { bytes, name } = await readSource(source);
  return {
    read: (offset, length) => {
      if (offset + length > bytes.length) {
        throw new DataLossError(
          `Cannot read ${name}: wanted ${offset + length} bytes of it, it has ${bytes.length}`,
        );
      }
      return Promise.resolve(bytes.subarray(offset, offset + length) as Uint8Array<ArrayBuffer>);
    },
    close: () => Promise.resolve(),
  };
}

/** Returns the path or URL of a file in the model's folder. */
async function besideModel(source: FileSource, location: string): Promise<string> {
  const steps = location.split("/");
  if (
    location.includes("\\") || location.includes("\0") || /^[A-Za-z][\w+.-]*:/.test(location) ||
    location.startsWith("/") || steps.includes("..")
  ) {
    throw new InvalidArgumentError(
      `Cannot read external data at "${location}": it is not in the model's folder`,
    );
  }
  if (typeof source !== "string" && !(source instanceof URL)) {
    throw new NotFoundError(
      `Cannot read external data at "${location}": the model was read from bytes, pass the file as externalData`,
    );
  }
  const text = placeOf(String(source));
  if (/^(https?|file):/i.test(text)) {
    const url = new URL(steps.map(encodeURIComponent).join("/"), text);
    if (url.protocol !== "file:") return url.href;
    return await withinFolder(decodeURIComponent(new URL(".", text).pathname), location);
  }
  if (/^(data|blob):/i.test(text)) {
    throw new NotFoundError(
      `Cannot read external data at "${location}": nothing is beside ${
        text.slice(0, 40)
      }, pass it as externalData`,
    );
  }
  return await withinFolder(text.slice(0, Math.max(0, text.lastIndexOf("/") + 1)), location);
}

/** Returns the path of a file in a folder, which links must not leave. */
async function withinFolder(folder: string, location: string): Promise<string> {
  const { realpath } = await nodeFiles<{ realpath(path: string): Promise<string> }>();
  const path = folder + location;
  let real: string;
  try {
    real = await realpath(path);
  } catch (cause) {
    throw new NotFoundError(`Cannot read ${path}: there is no such file`, { cause });
  }
  const root = await realpath(folder === "" ? "." : folder);
  if (real.startsWith(root.endsWith("/") ? root : `${root}/`)) return real;
  throw new PermissionDeniedError(
    `Cannot read external data at "${location}": a link leads out of the model's folder`,
  );
}
