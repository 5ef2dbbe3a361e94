/** Handlers in a worker: health is answered while it computes, and what happens when it dies. */
import * as tf from "@weft/weft";
import { type Handler, workerHandler } from "@weft/weft/serve";
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { frontOf } from "../../src/serve/worker_handler.ts";
import { nextTask } from "../../src/engine/runtime/run/timers.ts";

const home = "http://localhost";

function start(folder: string): Worker {
  const url = new URL("worker_models.ts", import.meta.url);
  url.hash = folder;
  return new Worker(url, { type: "module" });
}

async function withHandler(
  work: (handler: Handler, folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "weft_worker_" });
  try {
    const handler = await workerHandler(start(folder), { timeoutMs: Infinity });
    await work(handler, folder);
    await handler.drain();
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const headers = { authorization: "Bearer secret" };

function predict(model: string, instances: readonly number[], signal?: AbortSignal): Request {
  return new Request(`${home}/v1/models/${model}:predict`, {
    method: "POST",
    headers,
    body: JSON.stringify({ instances }),
    ...(signal && { signal }),
  });
}

async function told({ fetch }: Handler, path: string): Promise<[number, unknown]> {
  const answer = await fetch(new Request(home + path, { headers }));
  return [answer.status, await answer.json()];
}

/** Waits until the model `until` computes. */
async function begun(folder: string): Promise<void> {
  while (!await Deno.stat(`${folder}/begun`).then(() => true, () => false)) await nextTask();
}

const end = (folder: string): Promise<void> => Deno.writeTextFile(`${folder}/end`, "");

Deno.test("workerHandler() asks its worker nothing for a client that has left", async () => {
  const asked: unknown[] = [];
  const worker = Object.assign(new EventTarget(), {
    postMessage: (question: unknown) => void asked.push(question),
    terminate: () => {},
  });
  const begun = workerHandler(worker as unknown as Worker);
  worker.dispatchEvent(new MessageEvent("message", { data: { kind: "begun" } }));
  const { fetch, drain } = await begun;
  assertEquals((await fetch(predict("double", [1], AbortSignal.abort()))).status, 499);
  assertEquals(asked, []);
  await drain();
});

Deno.test("parts of a body go to the worker with their memory where nobody else has it, and are copied where someone may", async () => {
  for (const givesParts of [true, false]) {
    const parts: [Uint8Array, Transferable[]][] = [];
    const worker = Object.assign(new EventTarget(), {
      postMessage(
        question: { kind: string; id: number; part?: Uint8Array },
        given: Transferable[],
      ) {
        const { kind, id, part } = question;
        if (part) parts.push([part, given]);
        if (kind === "part" && !part) tell({ kind: "response", id, answer: { status: 204 } });
        else if (kind !== "abort") queueMicrotask(() => tell({ kind: "pull", id }));
      },
      terminate: () => {},
    });
    const tell = (data: unknown): unknown =>
      worker.dispatchEvent(new MessageEvent("message", { data }));
    const made = frontOf(worker as unknown as Worker, {});
    tell({ kind: "begun" });
    const front = await made, chunks = ["ab", "c"].map((text) => new TextEncoder().encode(text));
    const request = new Request(`${home}/a`, {
      method: "POST",
      body: ReadableStream.from(chunks),
      duplex: "half",
    } as RequestInit);
    const { url, method, signal, body, headers } = request;
    const answer = await front.answer({
      ...{ url, method, signal, body, headers, bodyUsed: false, givesParts },
      arrayBuffer: () => request.arrayBuffer(),
    });
    assertEquals(answer.status, 204);
    assertEquals(parts.map(([part]) => part), chunks);
    assertEquals(parts.map(([, given]) => given), chunks.map((c) => givesParts ? [c.buffer] : []));
    await front.drain();
  }
});

Deno.test("workerHandler() answers for health while a model computes, and other requests after it", () =>
  withHandler(async (handler, folder) => {
    const first = handler.fetch(predict("until", [1, 2]));
    await begun(folder);
    const later = handler.fetch(predict("double", [4]));
    assertEquals(await told(handler, "/v2/health/live"), [200, { live: true }]);
    assertEquals(await told(handler, "/v2/health/ready"), [200, { ready: true }]);
    const drained = handler.drain();
    assertEquals(await told(handler, "/v2/health/ready"), [503, { ready: false }]);
    assertEquals((await handler.fetch(predict("double", [4]))).status, 503);
    await end(folder);
    assertEquals(await (await first).json(), { predictions: [1, 2] });
    assertEquals(await (await later).json(), { predictions: [8] });
    await drained;
  }));

Deno.test("workerHandler() says meanwhile whether a model is ready, as the worker did last, to those who may know", () =>
  withHandler(async (handler, folder) => {
    const path = "/v2/models/double/ready";
    const ready: [number, unknown] = [200, { name: "double", ready: true }];
    assertEquals(await told(handler, path), ready);
    assertEquals((await told(handler, "/v2/models/nobody/ready"))[0], 404);
    const first = handler.fetch(predict("until", [1]));
    await begun(folder);
    assertEquals(await told(handler, path), ready);
    // What the worker has not answered yet waits for it: a stranger, and another model.
    let late = 0;
    const waits = [
      handler.fetch(new Request(home + path)),
      handler.fetch(new Request(`${home}/v2/models/nobody/ready`, { headers })),
      handler.fetch(new Request(`${home}/v2/models/until/ready`, { headers })),
    ].map(async (answer) => [(await answer).status, await (await answer).json(), ++late]);
    assertEquals(await told(handler, path), ready);
    assertEquals(late, 0);
    await end(folder);
    assertEquals((await Promise.all(waits)).map(([status]) => status), [401, 404, 200]);
    await (await first).body!.cancel();
  }));

Deno.test("workerHandler() answers what the handler in the worker does", () =>
  withHandler(async (handler) => {
    const many = Array.from({ length: 100_000 }, (_, i) => i);
    const answer = await handler.fetch(predict("double", many));
    assertEquals(await answer.json(), { predictions: many.map((v) => 2 * v) });
    assertEquals((await told(handler, "/v2/models"))[1], { models: ["until", "double", "die"] });
    assertEquals((await told(handler, "/nowhere"))[0], 404);
    const bare = await handler.fetch(new Request(`${home}/v2/models`));
    assertEquals([bare.status, bare.headers.get("www-authenticate")], [401, "Bearer"]);
    await bare.body!.cancel();
    const asked = await handler.fetch(new Request(`${home}/v2/health/live`, { method: "POST" }));
    assertEquals([asked.status, asked.headers.get("allow")], [405, "GET"]);
    await asked.body!.cancel();
    const head = await handler.fetch(new Request(`${home}/v2/models`, { method: "HEAD", headers }));
    assertEquals(head.status, 200);
    await head.body?.cancel();
    const late = new Request(`${home}/v2/models`, { headers: { "x-timeout-ms": "-1" } });
    assertEquals((await handler.fetch(late)).status, 400);
  }));

Deno.test("workerHandler() gives up a request that is late or whose client went away", () =>
  withHandler(async (handler, folder) => {
    const controller = new AbortController();
    const left = handler.fetch(predict("until", [1], controller.signal));
    await begun(folder);
    const request = predict("double", [1]);
    request.headers.set("x-timeout-ms", "1");
    assertEquals((await handler.fetch(request)).status, 504);
    controller.abort();
    assertEquals((await left).status, 499);
    await end(folder);
  }));

Deno.test("workerHandler() says that its worker has died", () =>
  withHandler(async (handler) => {
    const answer = await handler.fetch(predict("die", [1]));
    assertEquals(answer.status, 503);
    assertEquals(/its worker has failed: .*died/.test((await answer.json()).error), true);
    assertEquals(await told(handler, "/v2/health/live"), [503, { live: false }]);
    assertEquals((await told(handler, "/v2/models"))[0], 503);
  }));

Deno.test("workerHandler() refuses a worker that fails, and wrong options", async () => {
  await assertRejects(() => workerHandler(start("")), tf.errors.UnavailableError, "no folder");
  const worker = start("");
  const wrong = { timeoutMs: 0 };
  await assertRejects(() => workerHandler(worker, wrong), tf.ValueError, "timeoutMs 0");
  worker.terminate();
});

Deno.test("workerHandler() gives back bodies that no handler reads", () =>
  withHandler(async ({ fetch }) => {
    let giveBack = (): void => {};
    const given = new Promise<void>((resolve) => giveBack = resolve);
    const body = new ReadableStream({
      pull: (to) => to.enqueue(new Uint8Array(1000)),
      cancel: () => giveBack(),
    });
    const init = { method: "POST", headers, body, duplex: "half" };
    assertEquals((await fetch(new Request(`${home}/nowhere`, init as RequestInit))).status, 404);
    await given;
  }));

/** A body of parts, which counts those that were asked for. */
function counted(parts: readonly (Uint8Array<ArrayBuffer> | Error)[]) {
  const seen = { pulls: 0, cancelled: false };
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(to) {
      const part = parts[seen.pulls++];
      if (part === undefined) to.close();
      else if (part instanceof Error) to.error(part);
      else to.enqueue(part);
    },
    cancel: () => void (seen.cancelled = true),
  }, { highWaterMark: 0 });
  return { seen, body };
}

function posted(path: string, body: ReadableStream, more: Record<string, string> = {}): Request {
  const init = { method: "POST", headers: { ...headers, ...more }, body, duplex: "half" };
  return new Request(home + path, init as RequestInit);
}

const utf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

Deno.test("workerHandler() reads a body when its worker asks for it, and nothing of one that is refused", () =>
  withHandler(async ({ fetch }) => {
    const predict = "/v1/models/double:predict";
    const refused = counted([utf8("x")]);
    assertEquals((await fetch(posted("/nowhere", refused.body))).status, 404);
    assertEquals(refused.seen, { pulls: 0, cancelled: true });
    const unknown = counted([utf8("x")]);
    const stranger = posted(predict, unknown.body, { authorization: "Bearer other" });
    assertEquals((await fetch(stranger)).status, 401);
    assertEquals(unknown.seen, { pulls: 0, cancelled: true });
    const parts = counted(['{"inst', 'ances":', "[1,2", "]}"].map(utf8));
    const answer = await fetch(posted(predict, parts.body));
    assertEquals([answer.status, await answer.json()], [200, { predictions: [2, 4] }]);
    assertEquals(parts.seen, { pulls: 5, cancelled: false });
    const broken = counted([utf8("{"), new TypeError("cut off")]);
    const failed = await fetch(posted(predict, broken.body));
    assertEquals([failed.status, await failed.json()], [400, {
      error: "Cannot read the request: cut off",
    }]);
    const length = { "content-length": "19" };
    const small = await fetch(posted(predict, counted([utf8('{"instances":[1,2]}')]).body, length));
    assertEquals(await small.json(), { predictions: [2, 4] });
    const smallBroken = await fetch(
      posted(predict, counted([new TypeError("cut off")]).body, length),
    );
    assertEquals([smallBroken.status, await smallBroken.json()], [400, {
      error: "Cannot read the request: cut off",
    }]);
    const none = await fetch(new Request(home + predict, { method: "POST", headers }));
    assertEquals(none.status, 400);
    await none.body!.cancel();
  }));

Deno.test("workerHandler() gives up a body that does not come", () =>
  withHandler(async ({ fetch }) => {
    for (const length of [undefined, "10"]) {
      let cancelled = false;
      const body = new ReadableStream({
        pull: () => new Promise(() => {}),
        cancel: () => void (cancelled = true),
      });
      const more = { "x-timeout-ms": "5", ...(length && { "content-length": length }) };
      const answer = await fetch(posted("/v1/models/double:predict", body, more));
      assertEquals(answer.status, 504);
      await answer.body!.cancel();
      // A small one is being read as a whole, and its host closes it with the answer.
      assertEquals(cancelled, length === undefined);
    }
  }));

Deno.test("workerHandler() outlives requests that the standard has no room for, and handlers that fail", () =>
  withHandler(async (handler) => {
    for (
      const [asked, status, error] of [
        [{ method: "TRACE" }, 400, "Cannot read the request: "],
        [{ method: "CONNECT" }, 400, "Cannot read the request: "],
        [{ method: "no method" }, 400, "Cannot read the request: "],
        [{ url: `${home}/throws` }, 500, "no answer"],
        [{ url: `${home}/breaks` }, 500, "no body"],
      ] as const
    ) {
      const ordinary = new Request(`${home}/v2`, { headers });
      const { headers: sent, signal } = ordinary;
      // Other hosts than Deno's make requests of their own.
      const request = { url: ordinary.url, method: "GET", headers: sent, signal, body: null };
      const answer = await handler.fetch({ ...request, ...asked } as unknown as Request);
      assertEquals(answer.status, status);
      assertStringIncludes((await answer.json()).error, error);
    }
    assertEquals((await told(handler, "/v2"))[0], 200);
  }));
