/** The table of a recording: which events count, by what they are added up, and how the columns stand. */
import { assertEquals } from "@std/assert";
import type { TraceEvent } from "../../src/engine/runtime/trace.ts";
import { textTable, traceTable } from "../../src/engine/runtime/trace_table.ts";

const event = (given: Partial<TraceEvent>): TraceEvent =>
  ({ name: "run", cat: "step", ph: "X", ts: 0, dur: 0, pid: 1, tid: 1, ...given }) as TraceEvent;

/** The cells of a table's lines. */
const cells = (table: string): string[][] => table.split("\n").map((l) => l.trim().split(/ {2,}/));

const HEAD = ["op", "work", "device", "count", "ms", "bytes"];

Deno.test("traceTable() adds up events of one op, work and device, the longest first", () => {
  const table = traceTable([
    event({ dur: 250, args: { op: "Add", device: "CPU" } }),
    event({ dur: 750, args: { op: "Add", device: "CPU" } }),
    event({ dur: 1500, args: { op: "MatMul", device: "CPU", bytes: 64 } }),
    event({ dur: 4000, cat: "script", name: "body" }),
    event({ dur: 9000, cat: "run" }),
    event({ dur: 9000, cat: "" }),
  ]);
  assertEquals(cells(table), [
    HEAD.slice(0, 5).concat("bytes"),
    ["body", "script", "host", "1", "4.000"],
    ["MatMul", "step", "CPU", "1", "1.500", "64"],
    ["Add", "step", "CPU", "2", "1.000"],
  ]);
});

Deno.test("traceTable() takes a GPU's own times where there are some, and pairs of beginning and end", () => {
  const dispatch = (tid: number, dur: number): TraceEvent =>
    event({ cat: "dispatch", tid, dur, args: { op: "Sum" } });
  assertEquals(cells(traceTable([dispatch(1, 100)])).slice(1), [
    ["Sum", "dispatch", "GPU", "1", "0.100"],
  ]);
  assertEquals(cells(traceTable([dispatch(1, 100), dispatch(2, 30)])).slice(1), [
    ["Sum", "dispatch", "GPU", "1", "0.030"],
  ]);
  const read = { cat: "readback", name: "read", id: 7 } as const;
  assertEquals(
    cells(traceTable([event({ ...read, ph: "b", ts: 40 }), event({ ...read, ph: "e", ts: 65 })]))
      .slice(1),
    [["read", "readback", "host", "1", "0.025"]],
  );
  const onHost = event({ dur: 10, args: { op: "Sum", device: "GPU" } });
  assertEquals(cells(traceTable([onHost])).slice(1), [["Sum", "recording", "host", "1", "0.010"]]);
});

Deno.test("traceTable() counts the ops of eager code, and those within a step as the step", () => {
  const op = (ts: number, name: string): TraceEvent =>
    event({ cat: "op", ts, dur: 100, args: { op: name, device: "CPU", bytes: 8 } });
  const step = event({ ts: 1000, dur: 400, args: { op: "Moments", device: "CPU" } });
  const events = [op(0, "Add"), step, op(1000, "Mean"), op(1200, "Sub"), op(1400, "Add")];
  assertEquals(cells(traceTable(events)).slice(1), [
    ["Moments", "step", "CPU", "1", "0.400"],
    ["Add", "op", "CPU", "2", "0.200", "16"],
  ]);
});

Deno.test("textTable() puts words at the left and numbers at the right", () => {
  assertEquals(
    textTable(["name", "n", "mixed"], [["a", "1", "2"], ["long one", "10.5", "x"], ["b", "", ""]]),
    "name         n  mixed\na            1  2\nlong one  10.5  x\nb",
  );
  assertEquals(textTable(["name", "n"], []), "name  n");
});
