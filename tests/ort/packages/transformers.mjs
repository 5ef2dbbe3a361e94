// Programs as users of transformers.js write them, over small random models; what they tell is compared with what onnxruntime's own
// packages made of them. Plain JavaScript: it runs in Deno, in Node and in pages.

/** Numbers of 0 to 1 that look random. */
const noise = (n) =>
  Float32Array.from({ length: n }, (_, i) => (i * 7919 + 3 * i * i) % 1009 / 1008);

/** A sound: tones that rise. */
const sound = (n) =>
  Float32Array.from({ length: n }, (_, i) => 0.5 * Math.sin(i * i / 9000) + 0.1 * Math.sin(i / 7));

const TEXTS = ["the quick brown fox", "a cat sat on the mat ."];
const GENERATE = { max_new_tokens: 8, do_sample: false };

const data = (tensor) => ({ dims: [...tensor.dims], data: [...tensor.data].map(Number) });
const scores = (list) => list.map(({ label, score }) => [label, score]);

/** What each pipeline tells, by the folder of its model. */
export const PROGRAMS = {
  "feature-extraction": async (p) => data(await p(TEXTS, { pooling: "mean", normalize: true })),
  "text-classification": async (p) => scores(await p(TEXTS, { top_k: 1 })),
  "token-classification": async (p) =>
    (await p("my name is sarah and i live in berlin .")).map((
      { entity, score, word },
    ) => [entity, score, word]),
  "question-answering": async (p) => {
    const { answer, score } = await p("what is paris ?", "paris is the capital of france .");
    return [answer, score];
  },
  "zero-shot-classification": async (p) => {
    const { labels, scores } = await p("this film is great", ["good", "bad", "one"]);
    return [labels, scores];
  },
  "fill-mask": async (p) =>
    (await p("the quick [MASK] fox")).map(({ token_str, score }) => [token_str, score]),
  "image-classification": async (p, image) => scores(await p(image, { top_k: 3 })),
  "image-segmentation": async (p, image) =>
    (await p(image)).map(({ label, mask }) => [label, mask.data.reduce((n, v) => n + (v > 0), 0)]),
  "object-detection": async (p, image) =>
    (await p(image, { threshold: 0.2 })).map((
      { label, score, box },
    ) => [label, score, ...Object.values(box)]),
  "depth-estimation": async (p, image) => data((await p(image)).predicted_depth),
  "zero-shot-image-classification": async (p, image) =>
    scores(await p(image, ["cat", "dog", "fox"])),
  "text-generation-llama": (p) => p("the quick brown", GENERATE),
  "text-generation-gpt2": (p) => p(["one two", "a cat sat on"], GENERATE),
  "text2text-generation": (p) => p("this film is great", GENERATE),
  "automatic-speech-recognition": (p) => p(sound(16000), { max_new_tokens: 8, min_new_tokens: 6 }),
  "audio-classification": async (p) => scores(await p(sound(4000))),
};

/**
 * Runs the programs, or some of them.
 *
 * @param {object} transformers The package's exports.
 * @param {{ models: string, device: string, only?: readonly string[] }} options Folder of the models, and where to run them.
 */
export async function runPrograms({ env, pipeline, RawImage }, { models, device, only }) {
  env.allowRemoteModels = false;
  env.allowLocalModels = true;
  env.localModelPath = models;
  env.useBrowserCache = false;
  env.useFSCache = false;
  const pixels = Uint8ClampedArray.from(noise(40 * 36 * 3), (v) => 255 * v);
  const image = new RawImage(pixels, 40, 36, 3), told = {};
  for (const [name, program] of Object.entries(PROGRAMS)) {
    if (only !== undefined && !only.includes(name)) continue;
    const task = name.replace(/^(text-generation)-.*/, "$1");
    try {
      const pipe = await pipeline(task, name, { dtype: "fp32", device });
      told[name] = await program(pipe, image);
      await pipe.dispose();
    } catch (e) {
      told[name] = `${e.stack}`;
    }
  }
  return told;
}
