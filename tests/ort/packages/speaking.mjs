// Programs over packages for Node: embeddings of texts, and speech.
// The names are those of a folder that is installed for them; type checks do not know it.
const load = (name) => import(name);
const { env } = await load("transformers-3");
const { KokoroTTS } = await load("kokoro-js");
const { FlagEmbedding } = await load("fastembed");

const models = process.argv[2];

async function embeddings() {
  const model = await FlagEmbedding.init({
    model: "custom",
    modelAbsoluteDirPath: `${models}/feature-extraction`,
    modelName: "onnx/model.onnx",
    maxLength: 16,
  });
  const told = [];
  for await (const batch of model.embed(["the quick brown fox", "a cat sat on the mat"], 2)) {
    told.push(...batch.map((v) => [...v]));
  }
  return told;
}

async function speech() {
  Object.assign(env, {
    allowRemoteModels: false,
    allowLocalModels: true,
    localModelPath: models,
    useFSCache: false,
  });
  const tts = await KokoroTTS.from_pretrained("kokoro", { dtype: "fp32", device: "cpu" });
  const { audio, sampling_rate } = await tts.generate("hello, how are you?", {
    voice: "af_heart",
    speed: 1.1,
  });
  return { sampling_rate, audio: [...audio] };
}

const told = {};
for (const [name, program] of Object.entries({ embeddings, speech })) {
  try {
    told[name] = await program();
  } catch (e) {
    told[name] = `${e.stack}`;
  }
}
console.log(JSON.stringify(told));
process.exit(0);
