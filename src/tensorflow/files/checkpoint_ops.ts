/**
 * The ops with which TensorFlow's graphs read and write checkpoints: RestoreV2, SaveV2, ShardedFilename,
 * MergeV2Checkpoints. They access files, so this entry alone registers them.
 */
import { decodeString, encodeString } from "../../engine/core/text.ts";
import { type DType, DTYPES } from "../../engine/core/dtype.ts";
import { InvalidArgumentError } from "../../engine/core/errors.ts";
import type { HostCall, HostResults } from "../../engine/core/contract/host_op.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { type Attrs, defineOp } from "../../engine/core/op.ts";
import { fileOfOp, folderOf, WITHIN } from "../../library/io/within.ts";
import { type Checkpoint, readCheckpoint, writeCheckpoint } from "./checkpoint.ts";

defineOp({
  name: "RestoreV2",
  inputs: ["prefix: string", "tensor_names: string", "shape_and_slices: string"],
  outputs: ["tensors: dtypes"],
  attrs: ["dtypes: list(type)", WITHIN],
  hostInputs: ["prefix", "tensor_names", "shape_and_slices"],
  infer: (_, { dtypes }) => (dtypes as DType[]).map(() => null),
  grad: null,
  stateful: true,
  host: { run: restore },
  outside: "files",
});

async function restore({ inputs, attrs, node }: HostCall): Promise<HostResults> {
  const [prefix, names, slices] = inputs as NdArray[];
  const dtypes = attrs.dtypes as DType[];
  const checkpoint = await readCheckpoint(prefixWithin(textAt(prefix, 0), attrs));
  try {
    const out: NdArray[] = [];
    for (let i = 0; i < dtypes.length; i++) {
      out.push(
        await restored(checkpoint, {
          key: textAt(names, i),
          slice: textAt(slices, i),
          dtype: dtypes[i],
          node,
        }),
      );
    }
    return out;
  } finally {
    await checkpoint.close();
  }
}

interface Wanted {
  readonly key: string;
  readonly slice: string;
  readonly dtype: DType;
  readonly node: string;
}

async function restored(c: Checkpoint, { key, slice, dtype, node }: Wanted): Promise<NdArray> {
  const value = await c.read(key);
  if (value.dtype !== dtype) {
    throw new InvalidArgumentError(
      `Cannot restore "${key}": the checkpoint holds ${value.dtype}, node "${node}" wants ${dtype}`,
      { op: "RestoreV2", node },
    );
  }
  return slice === "" ? value : sliced(value, slice, key);
}

/** Cuts out the part that a spec as `"300 4 0,100:-"` names: the whole shape, then start and length of each axis. */
function sliced(value: NdArray, spec: string, key: string): NdArray {
  const ranges = (spec.split(" ").at(-1) ?? "").split(":").map((r, d) => {
    const [start, length] = r === "-" ? [0, value.shape[d]] : r.split(",").map(Number);
    return { start, length };
  });
  if (
    ranges.length !== value.rank ||
    ranges.some(({ start, length }, d) => !(start >= 0 && start + length <= value.shape[d]))
  ) {
    throw new InvalidArgumentError(
      `Cannot restore "${key}": the slice "${spec}" is none of a tensor of shape [${value.shape}]`,
    );
  }
  const shape = ranges.map((r) => r.length);
  const out = NdArray.zeros(value.dtype, shape);
  const { slots } = DTYPES[value.dtype];
  const source = value.data as ArrayLike<unknown>, target = out.data as { [i: number]: unknown };
  for (let i = 0; i < out.size; i++) {
    let rest = i, from = 0, stride = 1;
    for (let d = shape.length - 1; d >= 0; d--) {
      from += (ranges[d].start + rest % shape[d]) * stride;
      rest = Math.floor(rest / shape[d]);
      stride *= value.shape[d];
    }
    for (let s = 0; s < slots; s++) target[i * slots + s] = source[from * slots + s];
  }
  return out;
}

defineOp({
  name: "SaveV2",
  inputs: ["prefix: string", "tensor_names: string", "shape_and_slices: string", "tensors: dtypes"],
  outputs: [],
  attrs: ["dtypes: list(type)", WITHIN],
  hostInputs: ["prefix", "tensor_names", "shape_and_slices", "tensors"],
  infer: () => [],
  grad: null,
  effects: "ordered",
  stateful: true,
  host: { run: save },
  outside: "files",
});

async function save({ inputs, attrs, node }: HostCall): Promise<HostResults> {
  const [prefix, names, slices, ...tensors] = inputs as NdArray[];
  const values: Record<string, NdArray> = {};
  tensors.forEach((t, i) => {
    if (textAt(slices, i) !== "") {
      throw new InvalidArgumentError(
        `Cannot save "${
          textAt(names, i)
        }" at node "${node}": slices of tensors are read, not written`,
        { op: "SaveV2", node },
      );
    }
    values[textAt(names, i)] = t;
  });
  await writeCheckpoint(prefixWithin(textAt(prefix, 0), attrs), values);
  return [];
}

defineOp({
  name: "ShardedFilename",
  inputs: ["basename: string", "shard: int32", "num_shards: int32"],
  outputs: ["filename: string"],
  infer: () => [[]],
  grad: null,
  cpu: ([base, shard, shards]) => {
    const five = (x: NdArray): string => String(x.item()).padStart(5, "0");
    const name = `${textAt(base, 0)}-${five(shard)}-of-${five(shards)}`;
    return [new NdArray("string", [], [encodeString(name)])];
  },
});

defineOp({
  name: "MergeV2Checkpoints",
  inputs: ["checkpoint_prefixes: string", "destination_prefix: string"],
  outputs: [],
  attrs: ["delete_old_dirs: bool = true", "allow_missing_files: bool = false", WITHIN],
  hostInputs: ["checkpoint_prefixes", "destination_prefix"],
  infer: () => [],
  grad: null,
  effects: "ordered",
  stateful: true,
  host: { run: merge },
  outside: "files",
});

async function merge({ inputs, attrs }: HostCall): Promise<HostResults> {
  const [parts, to] = inputs as NdArray[];
  const values: Record<string, NdArray> = {};
  for (let i = 0; i < parts.size; i++) {
    const part = await readCheckpoint(prefixWithin(textAt(parts, i), attrs));
    for (const key of part.keys()) values[key] = await part.read(key);
    await part.close();
  }
  await writeCheckpoint(prefixWithin(textAt(to, 0), attrs), values);
  return [];
}

/** Checks the prefix of a checkpoint by its folder: no file has the prefix alone as its name. */
function prefixWithin(prefix: string, { _within }: Attrs): string {
  fileOfOp(folderOf(prefix), _within);
  return prefix;
}

function textAt(x: NdArray, i: number): string {
  return decodeString((x.data as Uint8Array[])[i]);
}
