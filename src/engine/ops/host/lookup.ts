/** Ops on lookup tables: making a handle, filling, looking up. */
import { currentInterpreter, type OpInput } from "../../core/apply.ts";
import type { DType } from "../../core/dtype.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import type { HostOp, NodeState } from "../../core/contract/host_op.ts";
import { NdArray } from "../../core/nd_array.ts";
import type { OpDef } from "../../core/op.ts";
import { Tensor } from "../../core/tensor.ts";
import { defineEffect, defineHandle } from "./effect.ts";

/** The interface of a table for its ops. */
export interface Table extends NodeState {
  readonly name: string;
  /** Dtypes of keys and values. */
  readonly dtypes: readonly [DType, DType];
  /** Number of keys. */
  readonly size: number;
  /** Replaces its contents. */
  fill(keys: NdArray, values: NdArray): void;
  /** Adds keys, or replaces their values. */
  insert(keys: NdArray, values: NdArray): void;
  /** Takes keys out; others are left alone. */
  remove(keys: NdArray): void;
  /** Returns its contents. */
  entries(): { readonly keys: NdArray; readonly values: NdArray };
  /** Returns the values of keys, `missing` for unknown ones. */
  find(keys: NdArray, missing: NdArray): NdArray;
}

/** A table as a graph value. */
export class TableHandle extends Tensor {
  /** A handle is a scalar. */
  readonly staticShape: readonly number[] = [];
  readonly table: Table;

  constructor(table: Table) {
    super("resource");
    this.table = table;
  }
  override setShape(): void {}
}

/** Returns the table of a handle. Throws `InvalidArgumentError` for other values. */
export function tableOf(x: OpInput): Table {
  if (x instanceof TableHandle) return x.table;
  throw new InvalidArgumentError("Cannot look up: wanted the handle of a table");
}

/** Runs an op on the table of its first input; the other inputs are on the host. */
function onTable(run: (table: Table, ...given: NdArray[]) => readonly NdArray[] | void): HostOp {
  return {
    run: ({ inputs: [handle, ...given] }) => run(tableOf(handle), ...given as NdArray[]) ?? [],
    eager: ([handle, ...given]) => {
      const arrays = given.map((x) => x instanceof Tensor ? x.ndarraySync() : x);
      return (run(tableOf(handle), ...arrays) ?? []).map((v) => currentInterpreter().constant(v));
    },
  };
}

/** Defines an op that makes a table; `more`: attributes that only some have. */
function tableOp(name: string, more: readonly string[] = []): OpDef {
  return defineHandle({
    name,
    outputs: ["table_handle: resource"],
    attrs: [
      'container: string = ""',
      'shared_name: string = ""',
      "use_node_name_sharing: bool = false",
      "key_dtype: type",
      "value_dtype: type",
      ...more,
      "_table: table = null",
    ],
    host: { state: (attrs) => attrs._table },
  });
}

function importOp(name: string): OpDef {
  const [key, value] = name.startsWith("Initialize") ? ["Tkey", "Tval"] : ["Tin", "Tout"];
  return defineEffect({
    name,
    inputs: ["table_handle: resource", `keys: ${key}`, `values: ${value}`],
    outputs: [],
    attrs: [`${key}: type`, `${value}: type`],
    hostInputs: ["keys", "values"],
    infer: () => [],
    host: onTable((table, keys, values) =>
      name === "LookupTableInsertV2" ? table.insert(keys, values) : table.fill(keys, values)
    ),
  });
}

function findOp(name: string): void {
  defineEffect({
    name,
    inputs: ["table_handle: resource", "keys: Tin", "default_value: Tout"],
    outputs: ["values: Tout"],
    attrs: ["Tin: type", "Tout: type"],
    hostInputs: ["keys", "default_value"],
    infer: ([, keys, missing]) => [
      keys.shape === null || missing.shape === null ? null : [...keys.shape, ...missing.shape],
    ],
    host: onTable((table, keys, missing) => [table.find(keys, missing)]),
  });
}

function sizeOp(name: string): void {
  defineEffect({
    name,
    inputs: ["table_handle: resource"],
    outputs: ["size: int64"],
    infer: () => [[]],
    host: onTable(({ size }) => [new NdArray("int64", [], BigInt64Array.of(BigInt(size)))]),
  });
}

/** Handles of tables: TensorFlow ops `HashTable`, `MutableHashTable` and `MutableHashTableOfTensors`, and their second versions. */
const TABLES: readonly OpDef[] = [
  ...["HashTable", "HashTableV2", "MutableHashTable", "MutableHashTableV2"].map((n) => tableOp(n)),
  ...["MutableHashTableOfTensors", "MutableHashTableOfTensorsV2"].map((n) =>
    tableOp(n, ["value_shape: shape = []"])
  ),
];

/** True for an op that makes the handle of a table. */
export function makesTable(op: string): boolean {
  return TABLES.some(({ name }) => name === op);
}
/** Fill a table: `InitializeTable`, `LookupTableImport` and their second versions; `LookupTableInsertV2` adds to it. */
export const IMPORTS: readonly OpDef[] = [
  "InitializeTable",
  "InitializeTableV2",
  "LookupTableImport",
  "LookupTableImportV2",
  "LookupTableInsertV2",
].map(importOp);

defineEffect({
  name: "LookupTableRemoveV2",
  inputs: ["table_handle: resource", "keys: Tin"],
  outputs: [],
  attrs: ["Tin: type"],
  hostInputs: ["keys"],
  infer: () => [],
  host: onTable((table, keys) => table.remove(keys)),
});
defineEffect({
  name: "LookupTableExportV2",
  inputs: ["table_handle: resource"],
  outputs: ["keys: Tkeys", "values: Tvalues"],
  attrs: ["Tkeys: type", "Tvalues: type"],
  infer: () => [[null], null],
  host: onTable((table) => {
    const { keys, values } = table.entries();
    return [keys, values];
  }),
});
for (const name of ["LookupTableFind", "LookupTableFindV2"]) findOp(name);
for (const name of ["LookupTableSize", "LookupTableSizeV2"]) sizeOp(name);
