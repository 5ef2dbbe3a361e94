/** Account of what threads save: when they rest, and for how much work. */

import { assert, assertEquals } from "@std/assert";
import { ThreadGain, type ThreadJob } from "../../../src/engine/devices/cpu/threads/thread_gain.ts";

/** Work of a job of four milliseconds, and the job. */
const WORK = 400, JOB: ThreadJob = { took: 4, threads: 2, calls: 8, own: [1, 1, 1, 1] };

/** A job for which the asking thread waited. */
function waited(ms: number): ThreadJob {
  return { ...JOB, took: JOB.took + ms };
}

/** Returns the lengths of runs of `+` and `-`: with and without threads in each of this many jobs. */
function work(gain: ThreadGain, jobs: number, job: ThreadJob = JOB): string {
  let did = "";
  for (let i = 0; i < jobs; i++) {
    const rests = gain.rests(WORK);
    did += rests ? "-" : "+";
    if (!rests) gain.add(job);
  }
  return did.replace(/([+-])\1*/g, (run) => `${run[0]}${run.length} `).trim();
}

Deno.test("ThreadGain lets threads that save time go on", () => {
  assertEquals(work(new ThreadGain(), 1000), "+1000");
});

Deno.test("ThreadGain lets threads rest after a long wait, longer each time, and begins anew after a good time", () => {
  const gain = new ThreadGain();
  // A job takes 20 ms: the rests are 20 ms of work, 40, and so on to 500.
  assertEquals(work(gain, 95, waited(16)), "+1 -1 +1 -2 +1 -4 +1 -8 +1 -16 +1 -25 +1 -25 +1 -6");
  assertEquals(work(gain, 27), "-19 +8");
  assertEquals(work(gain, 3, waited(36)), "+1 -2");
});

Deno.test("ThreadGain forgives one long wait after a good time, not many", () => {
  const gain = new ThreadGain();
  assertEquals(work(gain, 100), "+100");
  assertEquals(work(gain, 1, waited(8)), "+1");
  assertEquals(work(gain, 100), "+100");
  assert(work(gain, 20, waited(4)).includes("-"));
});

Deno.test("ThreadGain does not take for saved what the asking thread itself was kept waiting", () => {
  assertEquals(work(new ThreadGain(), 2, { ...waited(20), own: [1, 1, 21, 1] }), "+1 -1");
});

Deno.test("ThreadGain judges nothing by jobs that other threads did alone, and knows coarse clocks", () => {
  assertEquals(work(new ThreadGain(), 1000, { ...waited(50), own: [] }), "+1000");
  const coarse: ThreadJob = { took: 0.1, threads: 2, calls: 8, own: [0, 0.1, 0, 0] };
  assertEquals(work(new ThreadGain(), 1000, coarse), "+1000");
  assert(work(new ThreadGain(), 1000, { ...coarse, took: 0.3 }).includes("-"));
});
