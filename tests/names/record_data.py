"""tf.io, tf.audio, tf.ragged, tf.quantization. See recorder.py."""

from recorder import np, rec, tf, write

io, q = tf.io, tf.quantization
b64 = lambda s: tf.io.encode_base64(s, pad=True)
B = tf.constant([b"\x00\x01\x80\xff\x02\x03\x04\x05", b"ABCDEFGH"])
for t in ("uint8", "int8", "int16", "uint16", "int32", "int64", "float32", "bool"):
    if t == "bool":
        rec("decodeRaw bool", lambda: io.decode_raw(tf.constant([b"\x00\x01"]), tf.bool), grads=False)
    elif t == "float32":
        rec("decodeRaw float32", lambda: io.decode_raw(tf.constant([b"ABCDEFGH"]), tf.float32), grads=False)
    else:
        rec(f"decodeRaw {t}", lambda: io.decode_raw(B, tf.as_dtype(t)), grads=False)
rec("decodeRaw big", lambda: io.decode_raw(B, tf.int16, little_endian=False), grads=False)
rec("decodeRaw fixed", lambda: io.decode_raw(tf.constant([b"ABC", b"ABCDEFGH"]), tf.uint8, fixed_length=4), grads=False)
rec("decodeRaw fixed big", lambda: io.decode_raw(tf.constant([b"ABC", b"ABCDEFGH"]), tf.int16, little_endian=False, fixed_length=6), grads=False)
R = tf.constant(['1,2.5,"a,b"', ",NA,c", "-7,1e3,"])
rec("decodeCsv", lambda: io.decode_csv(R, [tf.constant([9]), tf.constant(0.5), tf.constant(["none"])], na_value="NA"), grads=False)
rec("decodeCsv columns", lambda: io.decode_csv(R, [tf.constant([9]), tf.constant(["none"])], select_cols=[0, 2]), grads=False)
rec("decodeCsv delimiter", lambda: io.decode_csv(tf.constant(['1;"x"']), [tf.constant(1, tf.int64), tf.constant("")], field_delim=";", use_quote_delim=False), grads=False)
S = np.float32([[1, 2.5], [-3, 4]])
rec("serializeTensor", lambda x: b64(io.serialize_tensor(x)), S, grads=False)
rec("serializeTensor int32", lambda x: b64(io.serialize_tensor(x)), np.int32([1, -2]), grads=False)
rec("parseTensor", lambda x: io.parse_tensor(io.serialize_tensor(x), tf.float32), S, grads=False)
rec("parseTensor strings", lambda: io.parse_tensor(io.serialize_tensor(tf.constant(["a", "bc"])), tf.string), grads=False)
SP = lambda: tf.SparseTensor([[0, 1], [1, 0], [1, 2]], np.float32([5, 6, 7]), [3, 4])
rec("serializeSparse", lambda: b64(io.serialize_sparse(SP())), grads=False)
rec("serializeManySparse", lambda: b64(io.serialize_many_sparse(SP())), grads=False)
rec("deserializeManySparse", lambda: io.deserialize_many_sparse(tf.concat([io.serialize_many_sparse(SP()), io.serialize_many_sparse(tf.SparseTensor([[0, 5]], np.float32([1]), [1, 6]))], 0), tf.float32), grads=False)
rec("encodeWav", lambda x: b64(tf.audio.encode_wav(x, 8000)), np.float32([[0, 0.5], [-1, 1], [2, -2], [1 / 65536, 3 / 65536], [-1 / 65536, 0.1]]), grads=False)
J = tf.io.encode_jpeg(tf.cast(tf.random.stateless_uniform([13, 17, 3], [1, 2], 0, 256, tf.int32), tf.uint8))
G = tf.io.encode_jpeg(tf.zeros([5, 6, 1], tf.uint8), format="grayscale", progressive=True)
rec("extractJpegShape", lambda x: io.extract_jpeg_shape(io.decode_base64(x)), tf.io.encode_base64(J[:0] if False else J), grads=False)
rec("extractJpegShape gray", lambda x: io.extract_jpeg_shape(io.decode_base64(x), tf.int64), tf.io.encode_base64(G), grads=False)
rec("isJpeg", lambda x: io.is_jpeg(io.decode_base64(x)), tf.io.encode_base64(G), grads=False)

rag = tf.ragged
for t in (tf.int32, tf.int64):
    rec(f"rowSplitsToSegmentIds {t.name}", lambda s: rag.row_splits_to_segment_ids(s), tf.constant([0, 0, 3, 3, 5], t), grads=False)
    rec(f"segmentIdsToRowSplits {t.name}", lambda s: rag.segment_ids_to_row_splits(s), tf.constant([0, 0, 2, 4, 4], t), grads=False)
rec("segmentIdsToRowSplits of 7", lambda s: rag.segment_ids_to_row_splits(s, 7), tf.constant([1, 1, 2]), grads=False)
rec("segmentIdsToRowSplits none", lambda s: rag.segment_ids_to_row_splits(s, 2), tf.zeros([0], tf.int32), grads=False)
rec("stackDynamicPartitions", lambda d, p: rag.stack_dynamic_partitions(d, p, 4), tf.constant([10.0, 20, 30, 40, 50]), tf.constant([3, 0, 3, 1, 0]))
rec("stackDynamicPartitions rows", lambda d, p: rag.stack_dynamic_partitions(d, p, 3), tf.reshape(tf.range(12.0), [2, 2, 3]), tf.constant([[0, 2], [2, 0]]))
A, C = rag.constant([["a"], ["b", "c"], []], dtype=tf.string), rag.constant([["d", "e"], ["f"], ["g"]])
N = rag.constant([[1, 2], [3], [4]], dtype=tf.int64)
rec("cross", lambda: rag.cross([A, C]), grads=False)
rec("cross of three", lambda: rag.cross([N, tf.constant([["x"], ["y"], ["z"]]), C]), grads=False)
rec("crossHashed", lambda: rag.cross_hashed([A, C], num_buckets=100), grads=False)
rec("crossHashed of numbers", lambda: rag.cross_hashed([N, N], num_buckets=1000), grads=False)
rec("crossHashed with a key", lambda: rag.cross_hashed([N, C], num_buckets=1000, hash_key=7), grads=False)

rng = np.random.default_rng(5)
X = (8 * rng.uniform(-1, 1, size=(3, 4))).astype(np.float32)
rec("fakeQuantWithMinMaxArgs", lambda x: q.fake_quant_with_min_max_args(x), X)
rec("fakeQuantWithMinMaxArgs narrow", lambda x: q.fake_quant_with_min_max_args(x, -2, 5, 4, True), X)
rec("fakeQuantWithMinMaxVars", lambda x, a, b: q.fake_quant_with_min_max_vars(x, a, b), X, np.float32(-3), np.float32(4.5))
rec("fakeQuantWithMinMaxVars narrow", lambda x, a, b: q.fake_quant_with_min_max_vars(x, a, b, 3, True), X, np.float32(0.5), np.float32(4.5))
rec("fakeQuantWithMinMaxVarsPerChannel", lambda x, a, b: q.fake_quant_with_min_max_vars_per_channel(x, a, b, 5), X, np.float32([-3, -1, 0, -8]), np.float32([4.5, 2, 6, 1]))
write("data")
