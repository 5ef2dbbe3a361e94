/**
 * TensorFlow's own masters, tasks and clients with servers of ours. They run where WEFT_TENSORFLOW_PYTHON names a Python that has
 * TensorFlow.
 */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { grpcTransport, Server } from "@weft/weft/distribute";
import { freePort } from "./cluster.ts";
import { PYTHON, Python } from "../python.ts";

const PROGRAM = "tensorflow_cluster.py";

let calls = 0;
let told: Promise<unknown> = Promise.resolve();
const scripts = {
  "test.twice@1": (x: tf.NdArray) => {
    calls++;
    return x.map((v) => 2 * Number(v));
  },
  "test.same@1": (x: tf.NdArray) => x,
  "test.angle@1": (x: tf.NdArray) => `<${x.text()}>`,
  "test.boom@1": () => {
    throw new RangeError("never — ever");
  },
  "test.never@1": (_: tf.NdArray, { signal }: { signal: AbortSignal }) => {
    told = new Promise((done) => signal.addEventListener("abort", done));
    return new Promise<tf.NdArray>(() => {});
  },
};

/** Graphs of a number that call scripts: their values where it is 2, and -3, and how often the script is called for both. */
const GRAPHS = {
  plain: { values: [13, -17], calls: 2 },
  cond: { values: [4, -4], calls: 1 },
  loop: { values: [20, -30], calls: 10 },
  nested: { values: [44, -36], calls: 14 },
  loop_in_branch: { values: [12, -3], calls: 3 },
  function: { values: [9, 19], calls: 2 },
  strings: { values: ["<2>", "<-3>"], calls: 0 },
  int64: { values: [2 ** 41, -3 * 2 ** 40], calls: 0 },
};

/** Two variables after three steps of Adam, and the loss: TensorFlow 2.21's numbers. */
const TRAINED = [1.2997252, 2.2996173, 1.2997252, 2.2996173, 41.9682];

function close(values: unknown, wanted: readonly number[]): void {
  const flat = (values as unknown[]).flat() as number[];
  assertEquals(flat.length, wanted.length);
  for (const [i, v] of wanted.entries()) {
    assert(Math.abs(flat[i] - v) <= 1e-5 * Math.abs(v), `${flat}`);
  }
}

Deno.test({
  name: "TensorFlow's master runs parts of its graphs in a task of ours",
  ignore: PYTHON === undefined,
  async fn(t) {
    const [own, other] = [await freePort(grpcTransport), await freePort(grpcTransport)];
    const cluster = { worker: [`127.0.0.1:${other}`], script: [`127.0.0.1:${own}`] };
    await using server = new Server({ cluster, job: "script", scripts });
    await server.start();
    const python = new Python(PROGRAM, JSON.stringify(cluster));
    const { target } = await python.read();
    for (const [name, wanted] of Object.entries(GRAPHS)) {
      await t.step(`scripts of "${name}" run here`, async () => {
        calls = 0;
        assertEquals(await python.ask("run", target, name, "2", "-3"), { value: wanted.values });
        assertEquals(calls, wanted.calls);
      });
    }
    await t.step("tensors of all dtypes come back as they were", async () => {
      assertEquals(await python.ask("dtypes", target), { value: [] });
    });
    for (const megabytes of [10, 100]) {
      await t.step(`tensors of ${megabytes} MB come back as they were`, async () => {
        const elements = String(megabytes * 250_000);
        assertEquals(await python.ask("large", target, elements), { value: 0 });
      });
    }
    await t.step("variables of both kinds are trained here", async () => {
      const { value } = await python.ask("variables", target, "/job:script/task:0");
      close(value, [...TRAINED, ...TRAINED]);
    });
    await t.step("sessions that want it have variables of their own here", async () => {
      const { value } = await python.ask("isolated", target, "/job:script/task:0");
      assertEquals(value, [5, 1, 5, "unset"]);
    });
    await t.step("sessions on several tasks of a master of ours cannot want that", async () => {
      const answer = await python.ask("isolated", server.target, "/job:worker/task:0");
      assertEquals(answer.error, "UnimplementedError");
      assertStringIncludes(answer.text, "isolate the state");
    });
    await t.step("our devices are listed", async () => {
      const { value } = await python.ask("devices", target);
      assert(
        (value as string[][]).some(([n]) => n === "/job:script/replica:0/task:0/device:CPU:0"),
      );
    });
    for (const [name, { values }] of Object.entries(GRAPHS)) {
      await t.step(
        `TensorFlow's task runs its part of "${name}" for a master of ours`,
        async () => {
          const answer = await python.ask("run", server.target, name, "2", "-3");
          assertEquals(answer, { value: values });
        },
      );
    }
    await t.step("the error of a body has its class and text in Python", async () => {
      const { error, text } = await python.ask("run", target, "boom", "1");
      assertEquals(error, "InvalidArgumentError");
      assertStringIncludes(text, "never — ever");
    });
    await t.step("a script that is not here is named", async () => {
      const { error, text } = await python.ask("run", target, "nobody", "1");
      assertEquals(error, "NotFoundError");
      assertStringIncludes(text, '"test.nobody@1"');
    });
    await t.step("a step that takes too long is cancelled here as well", async () => {
      const { error } = await python.ask("late", target, "300");
      assertEquals(error, "DeadlineExceededError");
      await told;
    });
    await t.step("a step whose master is killed is cancelled here", async () => {
      const called = Promise.withResolvers<void>();
      const before = told;
      const asked = python.ask("run", target, "never", "1").catch(() => called.resolve());
      while (told === before) await new Promise((done) => setTimeout(done, 10));
      python.kill();
      await asked;
      await told;
    });
    await python[Symbol.asyncDispose]();
  },
});

/** A task in a process of its own, which writes a line when it answers and another when the script is called that never ends. */
class OwnTask {
  readonly #process: Deno.ChildProcess;
  readonly #lines: ReadableStreamDefaultReader<string>;

  constructor(cluster: object) {
    const path = (name: string): string => new URL(name, import.meta.url).pathname;
    const map = path("../../npm_only/import_map.json");
    const args = ["run", "-A", "--no-check", "--import-map", map, path("served_task.ts")];
    this.#process = new Deno.Command(Deno.execPath(), {
      args: [...args, JSON.stringify(cluster)],
      stdout: "piped",
      stderr: "null",
    }).spawn();
    this.#lines = this.#process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  }

  async line(): Promise<string> {
    return (await this.#lines.read()).value?.trim() ?? "";
  }

  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#lines.cancel();
    await this.#process.status;
  }
}

Deno.test({
  name: "TensorFlow's master goes on where a task of ours is killed and started anew",
  ignore: PYTHON === undefined,
  async fn() {
    const [own, other] = [await freePort(grpcTransport), await freePort(grpcTransport)];
    const cluster = { worker: [`127.0.0.1:${other}`], script: [`127.0.0.1:${own}`] };
    const first = new OwnTask(cluster);
    assertEquals(await first.line(), `grpc://127.0.0.1:${own}`);
    await using python = new Python(PROGRAM, JSON.stringify(cluster));
    const { target } = await python.read();
    assertEquals(await python.ask("run", target, "plain", "2"), { value: [13] });
    const asked = python.ask("run", target, "never", "1");
    assertEquals(await first.line(), "called");
    await first.kill();
    const { error } = await asked;
    assertEquals(error, "UnavailableError");
    const second = new OwnTask(cluster);
    await second.line();
    // The first request may fail because the task was restarted.
    let answer = await python.ask("run", target, "plain", "2");
    if (answer.error) answer = await python.ask("run", target, "plain", "2");
    assertEquals(answer, { value: [13] });
    await second.kill();
  },
});

Deno.test({
  name: "Python's sessions run whole graphs on a server of ours",
  ignore: PYTHON === undefined,
  async fn(t) {
    await using server = new Server({ cluster: { worker: ["127.0.0.1:0"] }, scripts });
    await server.start();
    await using python = new Python(PROGRAM);
    const { target } = server;
    for (const [name, { values }] of Object.entries(GRAPHS)) {
      await t.step(`"${name}" runs`, async () => {
        assertEquals(await python.ask("run", target, name, "2", "-3"), { value: values });
      });
    }
    await t.step("tensors of all dtypes come back as they were", async () => {
      assertEquals(await python.ask("dtypes", target), { value: [] });
    });
    for (const megabytes of [10, 100]) {
      await t.step(`${megabytes} MB are fed and fetched`, async () => {
        const elements = String(megabytes * 250_000);
        assertEquals(await python.ask("fed", target, elements), { value: true });
      });
    }
    await t.step("variables of both kinds are trained, and outlive their session", async () => {
      const { value } = await python.ask("variables", target, "/job:worker/task:0");
      close(value, [...TRAINED, ...TRAINED]);
    });
    await t.step("sessions that want it have variables of their own", async () => {
      const { value } = await python.ask("isolated", target, "/job:worker/task:0");
      assertEquals(value, [5, 1, 5, "unset"]);
    });
    await t.step("graphs grow, and callables run", async () => {
      assertEquals(await python.ask("grown", target), { value: [2, 5, 4, 36] });
    });
    await t.step("our devices are listed", async () => {
      const names = tf.listDevices().map(({ type }) => type === "GPU" ? "WEBGPU" : type);
      assertEquals(await python.ask("devices", target), {
        value: names.map((type) => [`/job:worker/replica:0/task:0/device:${type}:0`, type]),
      });
    });
    const failing: [string[], string, string][] = [
      [["run", target, "boom", "1"], "InvalidArgumentError", "never — ever"],
      [["run", target, "nobody", "1"], "NotFoundError", '"test.nobody@1"'],
      [["late", target, "50"], "DeadlineExceededError", ""],
      [["partial", target], "UnimplementedError", "partial run"],
      [["unfed", target], "InvalidArgumentError", "You must feed a value"],
      [["read", target], "PermissionDeniedError", "ReadFile"],
    ];
    for (const [ask, error, text] of failing) {
      await t.step(`${ask[0]} ${ask[2] ?? ""} fails with ${error}`, async () => {
        const answer = await python.ask(...ask);
        assertEquals(answer.error, error);
        assertStringIncludes(answer.text, text);
      });
    }
  },
});
