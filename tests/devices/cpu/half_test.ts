Deno.test("float16 random numbers stay below 1, at steps of 1/2048", async () => {
  await tf.setBackend("cpu");
  using x = tf.randomUniform([4099], 0, 1, "float16");
  const values = await x.data<"float16">() as Float16Array;
  assert(values.every((v) => v >= 0 && v < 1 && Number.isInteger(v * 2048)));
});
