/** Rounds of coordinated reads: the assignment of elements, and skipped rounds. */

import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";
import { type RoundRequest, Rounds } from "../../../src/cluster/data_service/rounds.ts";

const { FailedPreconditionError } = tf.errors;

/** The request of a consumer, which takes what comes unless it says something else. */
function ask(
  consumer: number,
  round: number,
  { skipped = false, allowSkip = false } = {},
): RoundRequest {
  return { consumer, round, skippedPreviousRound: skipped, allowSkip };
}

/** Gives 0, 1, 2, …, as fast as it is asked. */
function counting(count = Infinity): () => Promise<number | null> {
  let i = 0;
  return () => Promise.resolve(i < count ? i++ : null);
}

Deno.test("each consumer of a round gets an element, whoever asks first", async () => {
  const rounds = new Rounds(3, counting());
  for (const [round, order] of [[0, 1, 2], [2, 1, 0], [1, 2, 0]].entries()) {
    const seen = await Promise.all(order.map((c) => rounds.next(ask(c, round))));
    assertEquals(seen, order.map((c) => 3 * round + c));
  }
});

Deno.test("a round waits for its last consumer, and who asks again gets the same", async () => {
  const rounds = new Rounds(2, counting());
  const first = rounds.next(ask(0, 5)), again = rounds.next(ask(0, 5));
  assertEquals(await rounds.next(ask(1, 5)), 1);
  assertEquals([await first, await again, await rounds.next(ask(0, 5))], [0, 0, 0]);
});

Deno.test("the first round begins without consumers that have heard of the task a round later", async () => {
  const rounds = new Rounds(2, counting());
  const late = rounds.next(ask(1, 8));
  assertEquals(await rounds.next(ask(0, 7)), 0);
  assertEquals([await rounds.next(ask(0, 8)), await late], [2, 3]);
});

Deno.test("the first round is left out where the others have left it out", async () => {
  const rounds = new Rounds(2, counting());
  const late = rounds.next(ask(1, 8, { skipped: true }));
  assertEquals(await rounds.next(ask(0, 7)), null);
  assertEquals([await rounds.next(ask(0, 8)), await late], [0, 1]);
});

Deno.test("a round whose elements are not ready is left out by all, and they are those of the next", async () => {
  const ready = Promise.withResolvers<void>(), next = counting();
  const rounds = new Rounds(2, () => ready.promise.then(next));
  const asked = (round: number) =>
    Promise.all([0, 1].map((c) => rounds.next(ask(c, round, { allowSkip: round < 2 }))));
  assertEquals(await asked(0), [null, null]);
  assertEquals(await asked(1), [null, null]);
  ready.resolve();
  assertEquals(await asked(2), [0, 1]);
});

Deno.test("rounds that are past, and consumers that are none, are refused", async () => {
  const rounds = new Rounds(1, counting());
  await rounds.next(ask(0, 3));
  const refused: readonly (readonly [RoundRequest, string])[] = [
    [ask(0, 2), "already reached 3"],
    [ask(1, 4), "consumer from 0 to 0"],
    [ask(-1, 4), "consumer from 0 to 0"],
    [ask(0, -1), "round -1"],
  ];
  for (const [request, text] of refused) {
    await assertRejects(async () => await rounds.next(request), FailedPreconditionError, text);
  }
  assertEquals(await rounds.next(ask(0, 4)), 1);
});

Deno.test("all consumers hear of an end, and of what fails, in each round", async () => {
  const boom = new RangeError("boom");
  for (
    const [read, text] of [
      [counting(3), "must be infinite"],
      [() => Promise.reject(boom), "boom"],
    ] as const
  ) {
    const rounds = new Rounds<number>(2, read);
    if (text !== "boom") await Promise.all([0, 1].map((c) => rounds.next(ask(c, 0))));
    for (const round of [1, 2]) {
      const both = await Promise.allSettled([0, 1].map((c) => rounds.next(ask(c, round))));
      assertEquals(both.map((b) => b.status === "rejected" && b.reason.message.includes(text)), [
        true,
        true,
      ]);
    }
  }
});

Deno.test("those who wait for others hear that the task is over", async () => {
  const rounds = new Rounds(2, counting()), waits = rounds.next(ask(0, 0));
  rounds.end(new tf.errors.FailedPreconditionError("over"));
  await assertRejects(() => waits, FailedPreconditionError, "over");
});
