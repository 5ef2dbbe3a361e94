/** Mutated images, archives, requests and frames are taken or refused; `deno task fuzz` tries very many of them. */
import { assert } from "@std/assert";
import * as tf from "@weft/weft";
import { effort } from "../effort.ts";
import { MESSAGES, MutatedMessages, takeMessage } from "./messages.ts";

/** The beginning of a connection. */
const PREFACE = "505249202a20485454502f322e300d0a0d0a534d0d0a0d0a";

for (const kind of Object.keys(MESSAGES)) {
  Deno.test(`mutations of ${kind} are taken or refused`, async () => {
    await tf.setBackend("cpu");
    const messages = await MutatedMessages.create(kind), n = effort(100, 1500);
    let refused = 0;
    for (let seed = 0; seed < n; seed++) if (!await messages.read(seed)) refused++;
    assert(refused > 0 && refused < n, `${refused} of ${n} were refused`);
  });
}

/** Messages that once were neither taken nor refused as they should be, by kind: their bytes in base 16. */
const FOUND: Readonly<Record<string, readonly string[]>> = {
  // A reset of two bytes: its callers were told what the engine said.
  "frames of HTTP/2": [PREFACE + "000002030000000003" + "0000"],
};

for (const [kind, messages] of Object.entries(FOUND)) {
  Deno.test(`${kind}: what once failed is taken or refused`, async () => {
    await tf.setBackend("cpu");
    for (const text of messages) await takeMessage(MESSAGES[kind]!, Uint8Array.fromHex(text), text);
  });
}
