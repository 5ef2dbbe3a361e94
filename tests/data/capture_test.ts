/** webcam() and microphone(): in Chromium, over a made camera and a made microphone; and what they refuse elsewhere. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { findChromium, type PageFile, runPage } from "../../tools/browser.ts";
import { builtPackage } from "../built.ts";

const PROGRAM = `
import * as tf from "/weft/mod.js";
const send = (message) => fetch("/message", { method: "POST", body: JSON.stringify(message) });
async function pictures() {
  const camera = await tf.data.webcam(undefined, { resizeWidth: 40, resizeHeight: 30 });
  const before = tf.memory().numTensors, seen = [];
  for await (using picture of camera) {
    const values = await picture.data();
    seen.push([picture.shape, picture.dtype, Math.min(...values) >= 0, Math.max(...values) > 50]);
    if (seen.length === 2) break;
  }
  camera.stop();
  const left = tf.memory().numTensors - before;
  const video = Object.assign(document.createElement("video"), { width: 64, height: 48 });
  const other = await tf.data.webcam(video, { resizeWidth: 20, resizeHeight: 10, centerCrop: true });
  using cropped = await other.capture();
  other.stop();
  const whole = await tf.data.webcam(video);
  using all = await whole.capture();
  whole.stop();
  let ended = 0;
  for await (const _ of whole) ended++;
  return { seen, left, cropped: cropped.shape, all: [all.shape.join() === [video.videoHeight, video.videoWidth, 3].join(), all.dtype], ended };
}
async function sounds() {
  const options = { fftSize: 64, numFramesPerSpectrogram: 5, columnTruncateLength: 20, includeWaveform: true };
  const ear = await tf.data.microphone(options);
  const { spectrogram, waveform } = await ear.capture();
  const finite = (await waveform.data()).every(Number.isFinite);
  ear.stop();
  return { spectrogram: spectrogram.shape, waveform: waveform.shape, finite, rate: ear.sampleRate() > 0 };
}
try {
  await tf.setBackend("cpu");
  await send({ pictures: await pictures(), sounds: await sounds() });
} catch (error) {
  await send({ error: String(error.stack) });
}
await send(null);
`;

const chromium = await findChromium();

Deno.test({
  name: "webcam() and microphone() give tensors in a page",
  ignore: chromium === null,
  async fn() {
    const files = new Map<string, PageFile>();
    const script = (body: string): PageFile => ({ type: "text/javascript", body });
    const folder = await builtPackage({ types: false });
    for await (const { name } of Deno.readDir(folder)) {
      if (!name.endsWith(".js")) continue;
      files.set(`/weft/${name}`, script(await Deno.readTextFile(`${folder}/${name}`)));
    }
    files.set("/main.js", script(PROGRAM));
    const body = `<!doctype html><body><script type="module" src="/main.js"></script>`;
    files.set("/", { type: "text/html", body });
    let told: unknown;
    await runPage(chromium!, { files, isolated: false, hasMedia: true }, (message) => {
      told ??= message;
    });
    assertEquals(told, {
      pictures: {
        seen: [[[30, 40, 3], "float32", true, true], [[30, 40, 3], "float32", true, true]],
        left: 0,
        cropped: [10, 20, 3],
        all: [true, "int32"],
        ended: 0,
      },
      sounds: { spectrogram: [5, 20, 1], waveform: [320, 1], finite: true, rate: true },
    });
  },
});

Deno.test("webcam() and microphone() refuse what they cannot do", async () => {
  const size = { resizeWidth: 2, resizeHeight: 2 };
  await assertRejects(() => tf.data.webcam(undefined, size), tf.errors.UnavailableError, "pages");
  await assertRejects(() => tf.data.webcam(), tf.ValueError, "resizeWidth");
  await assertRejects(() => tf.data.microphone(), tf.errors.UnavailableError, "microphone");
  await assertRejects(() => tf.data.microphone({ fftSize: 100 }), tf.ValueError, "power of 2");
  const nothing = { includeSpectrogram: false };
  await assertRejects(() => tf.data.microphone(nothing), tf.ValueError, "nothing");
  const wrong = { fft: 1 } as tf.data.MicrophoneOptions;
  assert(await tf.data.microphone(wrong).catch((error) => /fft/.test(error.message)));
});
