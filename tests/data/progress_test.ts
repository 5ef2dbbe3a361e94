/** `progress()` of datasets and `progressCallback()`: lines for terminals, and nothing else changes. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";

/** A stream that keeps what is written. */
function terminal(isTTY = true) {
  const texts: string[] = [];
  return { isTTY, texts, write: (text: string) => texts.push(text) };
}

/** The texts without the codes that clear a line. */
const lines = (texts: readonly string[]): string[] =>
  // deno-lint-ignore no-control-regex
  texts.map((text) => text.replace(/^\r\x1b\[K/, ""));

const read = async (ds: tf.data.Dataset<tf.Tensor>): Promise<unknown[]> => {
  const values: unknown[] = [];
  await ds.forEachAsync((x) => void values.push(x.arraySync()));
  return values;
};

Deno.test("progress() writes a line for each element, and ends it", async () => {
  const stream = terminal();
  const ds = tf.data.range(4).progress({ label: "reading", stream, everyMs: 0 });
  assertEquals(await read(ds), [0, 1, 2, 3]);
  const [first, , , last, end, ...more] = lines(stream.texts);
  assertMatch(first!, /^reading 1\/4 \[={5} {15}\] [\d.]+\/s( \d+ s left)?$/);
  assertMatch(last!, /^reading 4\/4 \[={20}\] [\d.]+\/s$/);
  assertMatch(end!, /^reading 4\/4 [\d.]+\/s [\d.]+ s\n$/);
  assertEquals(more, []);
});

Deno.test("progress() writes nothing where there is no terminal, and rarely where time has not passed", async () => {
  const quiet = terminal(false), rare = terminal();
  await read(tf.data.range(9).progress({ stream: quiet }));
  await read(tf.data.range(9).progress({ stream: rare, everyMs: 1e9 }));
  assertEquals(quiet.texts, []);
  assertEquals(rare.texts.length, 2);
});

Deno.test("progress() counts where the size is unknown or endless, and takes a total", async () => {
  const unknown = terminal(), endless = terminal(), given = terminal();
  const odd = (ds: tf.data.Dataset<tf.Tensor>) => ds.filter((x) => tf.notEqual(tf.mod(x, 2), 0));
  await read(odd(tf.data.range(6)).progress({ stream: unknown, everyMs: 0 }));
  await read(tf.data.range(3).repeat().progress({ stream: endless, everyMs: 0 }).take(2));
  await read(odd(tf.data.range(6)).progress({ stream: given, everyMs: 0, total: 6 }));
  assertMatch(lines(unknown.texts).at(-1)!, /^3 /);
  assertMatch(lines(endless.texts).at(-1)!, /^2 .*\n$/);
  assertMatch(lines(given.texts)[0]!, /^1\/6 \[/);
});

Deno.test("progress() ends its line where a pass fails or is left, and each pass has its own", async () => {
  const stream = terminal();
  const ds = tf.data.fromGenerator(function* () {
    yield 1;
    throw new RangeError("no more");
  }, { outputSignature: tf.TensorSpec([], "float32") }).progress({ stream, everyMs: 0 });
  for (let pass = 0; pass < 2; pass++) await assertRejects(() => ds.toArray());
  assertEquals(stream.texts.filter((text) => text.endsWith("\n")).length, 2);
});

Deno.test("a pass with progress() is saved and resumed as the one without it", async () => {
  const options = { stream: terminal(), everyMs: 0 };
  const plain = tf.data.range(6).batch(2),
    shown = tf.data.range(6).progress(options).batch(2).progress(options);
  const pass = shown.iterator();
  (await pass.next()).value.dispose();
  const state = await pass.save();
  await pass.return();
  for (const ds of [plain, shown]) {
    const rest = await Array.fromAsync(ds.iterator(state), (x) => x.arraySync());
    assertEquals(rest, [[2, 3], [4, 5]]);
  }
  assertEquals(String(shown.elementSpec), String(plain.elementSpec));
  assertEquals(shown.size, plain.size);
});

Deno.test("progressCallback() has a line for each epoch, with losses that are numbers", () => {
  const stream = terminal();
  const callback = tf.data.progressCallback({ stream, everyMs: 0 });
  callback.setParams({ epochs: 2, samples: 5, batchSize: 2 });
  callback.onEpochBegin(0);
  for (let batch = 0; batch < 3; batch++) {
    callback.onBatchEnd(batch, { batch, size: 2, loss: 1 / 3 });
  }
  callback.onEpochEnd(0, { loss: 0.25, acc: tf.scalar(1) });
  const texts = lines(stream.texts);
  assertMatch(texts[1]!, /^epoch 1\/2 2\/3 \[={13} {7}\] .* loss 0\.3333$/);
  assertMatch(texts.at(-1)!, /^epoch 1\/2 3\/3 .* s loss 0\.2500\n$/);
  assert(!texts.some((text) => text.includes("acc")));
});

Deno.test("progress() and progressCallback() refuse unknown options", () => {
  const options = { every: 1 } as tf.data.ProgressOptions;
  assertThrows(() => tf.data.range(1).progress(options), TypeError, "every");
  assertThrows(() => tf.data.progressCallback(options), TypeError, "every");
});
