/**
 * Ops on lookup tables, as graphs from files have them: a handle, filling it, finding in it.
 *  How they run says the runtime, which holds the tables.
 */
import type { OpDef } from "../../core/op.ts";
import { defineEffect, defineHandle } from "./effect.ts";

function tableOp(name: string): OpDef {
  return defineHandle({
    name,
    outputs: ["table_handle: resource"],
    attrs: [
      'container: string = ""',
      'shared_name: string = ""',
      "use_node_name_sharing: bool = false",
      "key_dtype: type",
      "value_dtype: type",
      "_table: table = null",
    ],
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
  });
}

function findOp(name: string): OpDef {
  return defineEffect({
    name,
    inputs: ["table_handle: resource", "keys: Tin", "default_value: Tout"],
    outputs: ["values: Tout"],
    attrs: ["Tin: type", "Tout: type"],
    hostInputs: ["keys", "default_value"],
    infer: ([, keys, missing]) => [
      keys.shape === null || missing.shape === null ? null : [...keys.shape, ...missing.shape],
    ],
  });
}

function sizeOp(name: string): OpDef {
  return defineEffect({
    name,
    inputs: ["table_handle: resource"],
    outputs: ["size: int64"],
    infer: () => [[]],
  });
}

/** Handles of tables: TensorFlow ops `HashTable` and `MutableHashTable`, and their second versions. */
export const TABLES: readonly OpDef[] = [
  "HashTable",
  "HashTableV2",
  "MutableHashTable",
  "MutableHashTableV2",
].map(tableOp);

/** True for an op that makes the handle of a table. */
export function makesTable(op: string): boolean {
  return TABLES.some(({ name }) => name === op);
}
/** Filling a table: `InitializeTable`, `LookupTableImport` and their second versions; `LookupTableInsertV2` adds to it. */
export const IMPORTS: readonly OpDef[] = [
  "InitializeTable",
  "InitializeTableV2",
  "LookupTableImport",
  "LookupTableImportV2",
  "LookupTableInsertV2",
].map(importOp);
/** What is in a table: `LookupTableExportV2`. */
export const EXPORT: OpDef = defineEffect({
  name: "LookupTableExportV2",
  inputs: ["table_handle: resource"],
  outputs: ["keys: Tkeys", "values: Tvalues"],
  attrs: ["Tkeys: type", "Tvalues: type"],
  infer: () => [[null], [null]],
});
/** Looking keys up: `LookupTableFind`, `LookupTableFindV2`. */
export const FINDS: readonly OpDef[] = ["LookupTableFind", "LookupTableFindV2"].map(findOp);
/** How many keys there are: `LookupTableSize`, `LookupTableSizeV2`. */
export const SIZES: readonly OpDef[] = ["LookupTableSize", "LookupTableSizeV2"].map(sizeOp);
