/** The files of `deno task gpu` and their evaluation, without a GPU. */

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { bundle } from "../bench/gpu/bundle.ts";
import { fitRanking, lossOf, type Swept } from "../bench/gpu/fit.ts";
import { readEntries, Recorder } from "../bench/gpu/record.ts";
import { rankingText, readRun, sectionOf, sweptOf } from "../bench/gpu/write.ts";
import {
  SHARED_RANKING,
  type SharedRanking,
  type SharedWeights,
} from "../src/engine/kernels/matmul/shared_ranking.ts";
import { sharedCost, sharedSplits } from "../src/engine/kernels/matmul/tiles.ts";
import { effort, some } from "./effort.ts";
import { testOnGpu } from "./ops/force_variant.ts";

async function withFile(fn: (path: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await fn(`${folder}/run.jsonl`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("Recorder writes errors and goes on, and begins again after what a process ended in", async () => {
  await withFile(async (path) => {
    const record = await Recorder.open(path, "part", { seconds: 60 });
    assertEquals(await record.attempt("a", () => 1), 1);
    assertEquals(await record.attempt("b", () => Promise.reject(new Error("no"))), undefined);
    // The process ends in an item, in the middle of a line.
    const end = '{"part":"part","item":"c","begun":true}\n{"part":"part","it';
    await Deno.writeTextFile(path, end, { append: true });
    const entries = await readEntries(path);
    assertEquals(entries.map(({ item, error }) => [item, error?.split("\n")[0]]), [
      ["a", undefined],
      ["b", "Error: no"],
      ["c", "The process ended in this item"],
    ]);
    const again = await Recorder.open(path, "part", { seconds: 60 }), ran: string[] = [];
    for (const item of ["a", "b", "c", "d"]) await again.attempt(item, () => ran.push(item));
    assertEquals(ran, ["d"]);
  });
});

Deno.test("Recorder keeps to its time, says what it left out, and stops where the device is lost", async () => {
  await withFile(async (path) => {
    const late = await Recorder.open(path, "part", { seconds: -1 });
    assertEquals(await late.attempt("a", () => 1), undefined);
    late.end();
    const left = await readEntries(path);
    assertEquals(left, [{ part: "part", item: "left out", result: ["a"] }]);
    const record = await Recorder.open(path, "other", { seconds: 60 });
    const lost = () => Promise.reject(new Error("Cannot go on: the device is lost"));
    await assertRejects(() => record.attempt("b", lost), Error, "lost");
  });
});

/** Times that follow a ranking's own cost, so that it loses nothing. */
function sweptBy(ranking: SharedWeights & Pick<SharedRanking, "tiles">): Swept[] {
  const sizes = [64, 200, 512, 1024, 4096];
  return sizes.flatMap((m) =>
    sizes.map((n): Swept => ({
      extents: [m, n, 512, 1],
      times: ranking.tiles.map((tile) => ({
        tile,
        splits: sharedSplits(tile, [m, n, 512, 1], ranking),
        ms: sharedCost(tile, sharedSplits(tile, [m, n, 512, 1], ranking), [m, n, 512, 1], ranking),
      })),
    }))
  );
}

Deno.test("fitRanking() finds weights that lose nothing where times have such, and few tiles", () => {
  const { tiles } = SHARED_RANKING;
  const truth = { ...SHARED_RANKING, units: 16, registers: 2, loads: 32, latency: 0.3, tiles };
  const work = sweptBy(truth), fitted = fitRanking(work);
  assertEquals(lossOf(work, truth), 1);
  assert(lossOf(work, SHARED_RANKING) > 1.01, "Those in force would lose something");
  assert(fitted.loss < 1.001, `It loses ${fitted.loss}`);
  assert(fitted.tiles.length <= 8);
  assertThrows(() => fitRanking([]), RangeError, "no tile was timed");
});

Deno.test("rankingText() gives a module with the tiles and where they are from", async () => {
  const url = new URL("../src/engine/kernels/matmul/shared_ranking.ts", import.meta.url);
  const fitted = { ...fitRanking(sweptBy(SHARED_RANKING)), units: 77 };
  const text = rankingText(await Deno.readTextFile(url), fitted, "A card, 2026-01-01");
  await withFile(async (path) => {
    const file = path.replace("run.jsonl", "ranking.ts");
    await Deno.writeTextFile(file, text.replace(/^import .*$/m, "type SharedTile = unknown;"));
    const { SHARED_RANKING: made } = await import(`file://${file}`);
    const { loss: _, ...ranking } = fitted;
    assertEquals(made, { source: "A card, 2026-01-01", ...ranking });
  });
});

Deno.test("readRun() and sectionOf() hold rows against limits and peers", async () => {
  await withFile(async (path) => {
    await assertRejects(() => readRun(path), Error, "no line names an adapter");
    const time = (medianMs: number) => ({ kind: "time", medianMs, bestMs: medianMs });
    const [tile] = SHARED_RANKING.tiles;
    const entry = { op: "MatMul", dtype: "float32", shapes: [[8, 8]], attrs: {}, flop: 2e9 };
    const times = [{ name: "t /1", tile, splits: 1, best: 1, first: 9 }];
    const lines = [
      ["adapter", "machine", { adapter: "A card", date: "2026-01-01" }],
      ["limits", "GFLOP/s of vec4<f32>", { rate: 4000 }],
      ["limits", "GB/s of 256 MiB", { kernel: 100, copyBufferToBuffer: 80 }],
      ["rows", "weft as a peer, process 1", "1.0.0"],
      ["rows", "tfjs as a peer, process 1", "4.0.0"],
      ["rows", "mm", { id: "mm", what: "m", flop: 2e9, cells: { weft: time(1), tfjs: time(3) } }],
      ["rows", "add", { id: "add", what: "a", bytes: 5e7, cells: { weft: time(1) } }],
      ["check", "float32: Sum", { plans: 4, wrong: ["one is wrong"] }],
      ["sweep", "a", {
        ...entry,
        times,
        cut: false,
        extents: [8, 8, 8, 1],
        chosen: "t /1",
        failed: {},
      }],
      ["sweep", "b", {
        ...entry,
        times,
        cut: true,
        extents: [8, 8, 8, 1],
        chosen: "t /1",
        failed: {},
      }],
    ].map(([part, item, result]) => JSON.stringify({ part, item, result }));
    await Deno.writeTextFile(path, lines.join("\n"));
    const run = await readRun(path), text = sectionOf(run);
    assert(text.includes("| mm | m | 1.00 | – | 3.00 | 3.0 | 2.00 TFLOP/s | 50 % |"), text);
    assert(text.includes("| add | a | 1.00 | – | – |  | 50.0 GB/s | 50 % |"), text);
    assert(text.includes("4 plans of kernels held against float64, 1 wrong."), text);
    assert(text.includes("| 2.00 TFLOP/s | 50 % | t /1 | 1.00 |"), text);
    assertEquals(sweptOf(run).map(({ times }) => times.length), [1], "What was cut off has no say");
  });
});

testOnGpu("the bundle of `deno task gpu` measures something in every part", async () => {
  await withFile(async (path) => {
    const file = path.replace("run.jsonl", "bench.js");
    assertEquals(await bundle(file), 0);
    const parts = some(["adapter", "limits", "check", "sweep", "rows", "steps"], 3);
    const { code } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "--no-check",
        file,
        "--small",
        "--alone",
        "--minutes",
        String(effort(0.3, 0.5)),
      ]
        .concat("--parts", parts.join(","), "--out", path),
      stdout: "null",
    }).output();
    assertEquals(code, 0);
    const entries = (await readEntries(path)).filter(({ item }) => item !== "left out");
    const failed = entries.filter(({ item, error }) => error !== undefined && item !== "vendor");
    assertEquals(failed.map(({ part, item, error }) => `${part}, ${item}: ${error}`), []);
    for (const part of parts) assert(entries.some((e) => e.part === part), part);
    const wrong = entries.flatMap(({ result }) => (result as { wrong?: string[] })?.wrong ?? []);
    assertEquals(wrong, []);
  });
});
