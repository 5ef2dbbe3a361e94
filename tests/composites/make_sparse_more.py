"""What TensorFlow's functions of tf.sparse give.

    python tests/composites/make_sparse_more.py

Writes fixtures/sparse_more.json: results and gradients by the names of sparse_more_test.ts. Needs TensorFlow 2.21.
"""

import json, os
os.environ['TF_CPP_MIN_LOG_LEVEL']='3'
import tensorflow as tf, numpy as np
sp=tf.sparse
S=tf.SparseTensor
def out(r):
    if isinstance(r,(list,tuple)): return [out(v) for v in r]
    if isinstance(r,tf.SparseTensor): return {"at":r.indices.numpy().tolist(),"values":val(r.values),"dims":r.dense_shape.numpy().tolist()}
    if isinstance(r,tf.IndexedSlices): return {"rows":r.indices.numpy().tolist(),"values":val(r.values)}
    return val(r)
def val(t):
    a=t.numpy()
    if a.dtype==object: return np.vectorize(lambda b:b.decode(),otypes=[object])(a).tolist() if a.size else a.tolist()
    return a.tolist()
x=S([[0,1],[1,0],[1,2]],[5.,6.,7.],[2,3])
y=S([[0,1],[0,2],[1,2]],[-5.,1.,2.],[2,3])
deep=S([[0,0,1],[0,1,0],[0,1,2],[1,1,2]],[1.,2.,3.,4.],[2,2,3])
ids=S([[0,0],[0,2],[1,1]],tf.constant([2,0,2]),[2,3])
G={}
def rec(n,f):
    try: G[n]=out(f())
    except Exception as e: print("!!",n,type(e).__name__,str(e)[:200])
rec("fromDense",lambda:sp.from_dense([[0.,5.,0.],[6.,0.,7.]]))
rec("fromDense of strings",lambda:sp.from_dense([["","a"],["b",""]]))
rec("fromDense of int32",lambda:sp.from_dense([[0,-2]]))
rec("eye",lambda:sp.eye(2,3)); rec("eye of int32",lambda:sp.eye(2,dtype=tf.int32))
for a in (-1,0,1,2,-3): rec(f"expandDims {a}",lambda:sp.expand_dims(x,a))
rec("transpose",lambda:sp.transpose(x)); rec("transpose 201",lambda:sp.transpose(deep,[2,0,1]))
rec("reshape",lambda:sp.reshape(x,[3,-1])); rec("resetShape",lambda:sp.reset_shape(S([[0,1],[2,0]],[5.,6.],[4,4]))); rec("resetShape to",lambda:sp.reset_shape(x,[4,5]))
rec("split",lambda:sp.split(x,2,axis=1)); rec("split deep",lambda:sp.split(deep,2,axis=-1)); rec("split rows",lambda:sp.split(x,2,axis=0))
rec("mapValues",lambda:sp.map_values(tf.multiply,x,10.)); rec("mapValues of two",lambda:sp.map_values(tf.multiply,x,x))
rec("mask",lambda:sp.mask(tf.IndexedSlices(tf.constant([[1.,2.],[3.,4.],[5.,6.]]),tf.constant([0,5,7]),tf.constant([9,2])),[5,0]))
rec("fillEmptyRows",lambda:sp.fill_empty_rows(S([[0,1],[2,0]],[5.,6.],[4,2]),-1.))
rec("toIndicator",lambda:sp.to_indicator(ids,3))
rec("toIndicator deep",lambda:sp.to_indicator(S([[0,0,1],[1,1,0]],tf.constant([1,0],tf.int64),[2,2,3]),2))
for n,t in (("x",x),("deep",deep),("holes",S([[0,1],[0,2]],[-5.,-6.],[2,3]))):
    for a in (None,0,-1): rec(f"reduceMax {n} {a}",lambda:sp.reduce_max(t,a)); 
    rec(f"reduceMax {n} kept",lambda:sp.reduce_max(t,-1,True))
rec("softmax",lambda:sp.softmax(x)); rec("softmax deep",lambda:sp.softmax(deep))
rec("maximum",lambda:sp.maximum(x,y)); rec("minimum",lambda:sp.minimum(x,y))
V=tf.constant([[1,2,1],[0,0,5]])
sv=S([[0,0],[0,2],[2,1],[2,2]],tf.constant([1,1,3,3]),[3,3])
rec("bincount",lambda:sp.bincount(V)); rec("bincount rows",lambda:sp.bincount(V,axis=-1)); rec("bincount binary",lambda:sp.bincount(V,axis=-1,binary_output=True))
rec("bincount minlength",lambda:sp.bincount(V,minlength=9)); rec("bincount maxlength",lambda:sp.bincount(V,axis=-1,maxlength=2)); rec("bincount both",lambda:sp.bincount(V,axis=-1,minlength=4,maxlength=7))
rec("bincount weights",lambda:sp.bincount(V,weights=tf.constant([[.5,1,2],[3,4,.25]]))); rec("bincount weighted rows",lambda:sp.bincount(V,weights=tf.constant([[.5,1,2],[3,4,.25]]),axis=-1))
rec("bincount of sparse",lambda:sp.bincount(sv)); rec("bincount of sparse rows",lambda:sp.bincount(sv,axis=-1)); rec("bincount of sparse weights",lambda:sp.bincount(sv,axis=-1,weights=S(sv.indices,[1.,2.,3.,4.],[3,3])))
rec("bincount of a vector",lambda:sp.bincount(tf.constant([3,3,1]),axis=-1)); rec("bincount of none",lambda:sp.bincount(tf.constant([],tf.int32)))
A=tf.constant([["a","b"],["c","d"]]); B=tf.constant([["e"],["f"]]); N=tf.constant([[3,4],[-5,6]],tf.int64); ss=S([[0,0],[1,0],[1,2]],["p","q","r"],[2,3])
rec("cross",lambda:sp.cross([A,B])); rec("cross with numbers",lambda:sp.cross([A,N],separator="-")); rec("cross of sparse",lambda:sp.cross([B,ss,A]))
rec("crossHashed",lambda:sp.cross_hashed([A,B],num_buckets=100)); rec("crossHashed of numbers",lambda:sp.cross_hashed([N,N],num_buckets=1000)); rec("crossHashed mixed",lambda:sp.cross_hashed([A,N,ss],num_buckets=1000)); rec("crossHashed with a key",lambda:sp.cross_hashed([A,B],num_buckets=100,hash_key=956888297470)); 
D=tf.constant([[1.,2.],[3.,4.],[5.,7.]])
for n,f in (("segmentSum",sp.segment_sum),("segmentMean",sp.segment_mean),("segmentSqrtN",sp.segment_sqrt_n)):
    rec(n,lambda:f(D,[0,2,1,0],[0,0,2,2])); rec(n+" of 4",lambda:f(D,[0,2,1,0],[0,0,2,2],num_segments=4))
# gradients
def grad(n,f,v):
    with tf.GradientTape() as t:
        t.watch(v); r=f(v); r=r[0] if isinstance(r,(list,tuple)) else r
        r=r.values if isinstance(r,tf.SparseTensor) else r
        w=tf.reshape(tf.cast(tf.range(1,tf.size(r)+1),r.dtype),tf.shape(r)); l=tf.reduce_sum(r*r*w)
    g=t.gradient(l,v); G["gradient of "+n]=None if g is None else out(tf.convert_to_tensor(g))
vx=tf.constant([5.,6.,7.]); X=lambda v:S(x.indices,v,[2,3])
grad("fromDense",lambda v:sp.from_dense(v),tf.constant([[0.,5.,0.],[6.,0.,7.]]))
for n,f in (("expandDims",lambda q:sp.expand_dims(q,1)),("transpose",sp.transpose),("reshape",lambda q:sp.reshape(q,[3,2])),("resetShape",lambda q:sp.reset_shape(q,[4,4])),("mapValues",lambda q:sp.map_values(tf.square,q)),("fillEmptyRows",lambda q:sp.fill_empty_rows(q,-1.)),("softmax",sp.softmax)):
    try: grad(n,lambda v:f(X(v)),vx/4)
    except Exception as e: print("!!grad",n,e)
for n,f in (("segmentSum",sp.segment_sum),("segmentMean",sp.segment_mean),("segmentSqrtN",sp.segment_sqrt_n)):
    grad(n,lambda v:f(v,[0,2,1,0],[0,0,2,2]),D); grad(n+" of 4",lambda v:f(v,[0,2,1,0],[0,0,2,2],num_segments=4),D)
json.dump(G,open('tests/composites/fixtures/sparse_more.json','w'))
