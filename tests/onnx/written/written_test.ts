/**
 * encodeOnnx(): what it writes is read again by loadOnnx() and computes the same, on both devices; onnxruntime.json tells
 * what onnxruntime made of every op.
 */
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { loadOnnx, onnxPortability } from "@weft/weft/onnx";
import { testOnDevices } from "../../devices.ts";
import { effort, ofTheDay } from "../../effort.ts";
import { type Case, casesOf, sampledOps, write } from "./cases.ts";
import { program, PROGRAM_NAMES } from "./programs.ts";
import reports from "./onnxruntime.json" with { type: "json" };

interface Report {
  readonly models: number;
  readonly distance: number;
  readonly refused?: Readonly<Record<string, number>>;
}

const REPORTS: Readonly<Record<string, Report>> = reports;

/** Reads a value's tensors in order. */
async function arraysOf(value: unknown): Promise<tf.NdArray[]> {
  if (value instanceof tf.Tensor) return [await value.ndarray()];
  const all = await Promise.all(Object.values(value as Record<string, unknown>).map(arraysOf));
  return all.flat();
}

function compare(found: tf.NdArray, wanted: tf.NdArray, near: number, name: string): void {
  assertEquals([found.dtype, found.shape], [wanted.dtype, wanted.shape], name);
  if (!wanted.dtype.startsWith("float")) {
    return assertEquals(found.toArray(), wanted.toArray(), name);
  }
  const w = Array.from(wanted.data as ArrayLike<number>), f = found.data as ArrayLike<number>;
  const scale = 1 + Math.max(0, ...w.filter(Number.isFinite).map(Math.abs));
  w.forEach((v, i) => {
    if (Number.isFinite(v)) assertAlmostEquals(f[i], v, near * scale, `${name} at ${i}`);
    else assertEquals(f[i], v, `${name} at ${i}`);
  });
}

/** Writes and reads a case, and compares; false where it is refused. */
async function roundTrip(c: Case): Promise<boolean> {
  let wanted: tf.NdArray[];
  try {
    wanted = await arraysOf(c.run());
  } catch {
    return false;
  }
  const bytes = write(c);
  if (typeof bytes === "string") return false;
  const model = await loadOnnx(bytes), { feeds } = c;
  const given = model.inputs.map(({ name }) => [name, tf.tensor(feeds[name])]);
  const found = await arraysOf(await model.run(Object.fromEntries(given)));
  model.dispose();
  if (c.isRandom !== true) {
    found.forEach((f, i) => compare(f, wanted[i], Math.max(c.near ?? 1e-5, 2e-5), c.name));
  }
  return true;
}

for (const name of PROGRAM_NAMES) {
  testOnDevices(`encodeOnnx() writes ${name}, which loadOnnx() reads`, async () => {
    const c = program(name);
    assertEquals(onnxPortability(c.f), []);
    assert(await roundTrip(c));
  });
}

testOnDevices(
  "ops that encodeOnnx() writes compute the same when they are read",
  async (device) => {
    const few = effort(1, Infinity), wrong: string[] = [];
    for (const def of ofTheDay([...sampledOps()], 3)) {
      if (device === "webgpu" && (REPORTS[def.name]?.models ?? 0) === 0) continue;
      for (const c of casesOf(def).slice(0, few)) {
        try {
          await roundTrip(c);
        } catch (e) {
          wrong.push(`${c.name}: ${(e as Error).message.slice(0, 300)}`);
        }
      }
    }
    assertEquals(wrong, []);
  },
);

Deno.test("onnxruntime ran every op that has samples, or it is refused with a reason", () => {
  const known = [...sampledOps().map((d) => d.name), ...PROGRAM_NAMES].sort();
  assertEquals(Object.keys(REPORTS).sort(), known);
  for (const [name, { models, distance, refused }] of Object.entries(REPORTS)) {
    assert(distance <= 1, `${name} is ${distance} times the tolerance off`);
    assert(models > 0 || refused !== undefined, name);
  }
});
