"""Types with a name for each dtype and pattern.

``dmatrix`` is the type of float64 matrices, and makes variables when called.

The letters are b, w, i, l (int8 to int64), f, d (float32, float64), c, z (complex64, complex128).
"""

from __future__ import annotations

from ._core._constructors import PluralConstructor
from ._core._type import TensorType

bscalar = TensorType("int8", ())
bvector = TensorType("int8", (False,))
brow = TensorType("int8", (True, False))
bcol = TensorType("int8", (False, True))
bmatrix = TensorType("int8", (False, False))
btensor3 = TensorType("int8", (False,) * 3)
btensor4 = TensorType("int8", (False,) * 4)
btensor5 = TensorType("int8", (False,) * 5)
btensor6 = TensorType("int8", (False,) * 6)
btensor7 = TensorType("int8", (False,) * 7)

wscalar = TensorType("int16", ())
wvector = TensorType("int16", (False,))
wrow = TensorType("int16", (True, False))
wcol = TensorType("int16", (False, True))
wmatrix = TensorType("int16", (False, False))
wtensor3 = TensorType("int16", (False,) * 3)
wtensor4 = TensorType("int16", (False,) * 4)
wtensor5 = TensorType("int16", (False,) * 5)
wtensor6 = TensorType("int16", (False,) * 6)
wtensor7 = TensorType("int16", (False,) * 7)

iscalar = TensorType("int32", ())
ivector = TensorType("int32", (False,))
irow = TensorType("int32", (True, False))
icol = TensorType("int32", (False, True))
imatrix = TensorType("int32", (False, False))
itensor3 = TensorType("int32", (False,) * 3)
itensor4 = TensorType("int32", (False,) * 4)
itensor5 = TensorType("int32", (False,) * 5)
itensor6 = TensorType("int32", (False,) * 6)
itensor7 = TensorType("int32", (False,) * 7)

lscalar = TensorType("int64", ())
lvector = TensorType("int64", (False,))
lrow = TensorType("int64", (True, False))
lcol = TensorType("int64", (False, True))
lmatrix = TensorType("int64", (False, False))
ltensor3 = TensorType("int64", (False,) * 3)
ltensor4 = TensorType("int64", (False,) * 4)
ltensor5 = TensorType("int64", (False,) * 5)
ltensor6 = TensorType("int64", (False,) * 6)
ltensor7 = TensorType("int64", (False,) * 7)

fscalar = TensorType("float32", ())
fvector = TensorType("float32", (False,))
frow = TensorType("float32", (True, False))
fcol = TensorType("float32", (False, True))
fmatrix = TensorType("float32", (False, False))
ftensor3 = TensorType("float32", (False,) * 3)
ftensor4 = TensorType("float32", (False,) * 4)
ftensor5 = TensorType("float32", (False,) * 5)
ftensor6 = TensorType("float32", (False,) * 6)
ftensor7 = TensorType("float32", (False,) * 7)

dscalar = TensorType("float64", ())
dvector = TensorType("float64", (False,))
drow = TensorType("float64", (True, False))
dcol = TensorType("float64", (False, True))
dmatrix = TensorType("float64", (False, False))
dtensor3 = TensorType("float64", (False,) * 3)
dtensor4 = TensorType("float64", (False,) * 4)
dtensor5 = TensorType("float64", (False,) * 5)
dtensor6 = TensorType("float64", (False,) * 6)
dtensor7 = TensorType("float64", (False,) * 7)

cscalar = TensorType("complex64", ())
cvector = TensorType("complex64", (False,))
crow = TensorType("complex64", (True, False))
ccol = TensorType("complex64", (False, True))
cmatrix = TensorType("complex64", (False, False))
ctensor3 = TensorType("complex64", (False,) * 3)
ctensor4 = TensorType("complex64", (False,) * 4)
ctensor5 = TensorType("complex64", (False,) * 5)
ctensor6 = TensorType("complex64", (False,) * 6)
ctensor7 = TensorType("complex64", (False,) * 7)

zscalar = TensorType("complex128", ())
zvector = TensorType("complex128", (False,))
zrow = TensorType("complex128", (True, False))
zcol = TensorType("complex128", (False, True))
zmatrix = TensorType("complex128", (False, False))
ztensor3 = TensorType("complex128", (False,) * 3)
ztensor4 = TensorType("complex128", (False,) * 4)
ztensor5 = TensorType("complex128", (False,) * 5)
ztensor6 = TensorType("complex128", (False,) * 6)
ztensor7 = TensorType("complex128", (False,) * 7)

bscalars = PluralConstructor("bscalars", bscalar)
bvectors = PluralConstructor("bvectors", bvector)
brows = PluralConstructor("brows", brow)
bcols = PluralConstructor("bcols", bcol)
bmatrices = PluralConstructor("bmatrices", bmatrix)
btensor3s = PluralConstructor("btensor3s", btensor3)
btensor4s = PluralConstructor("btensor4s", btensor4)
btensor5s = PluralConstructor("btensor5s", btensor5)
btensor6s = PluralConstructor("btensor6s", btensor6)
btensor7s = PluralConstructor("btensor7s", btensor7)

wscalars = PluralConstructor("wscalars", wscalar)
wvectors = PluralConstructor("wvectors", wvector)
wrows = PluralConstructor("wrows", wrow)
wcols = PluralConstructor("wcols", wcol)
wmatrices = PluralConstructor("wmatrices", wmatrix)
wtensor3s = PluralConstructor("wtensor3s", wtensor3)
wtensor4s = PluralConstructor("wtensor4s", wtensor4)
wtensor5s = PluralConstructor("wtensor5s", wtensor5)
wtensor6s = PluralConstructor("wtensor6s", wtensor6)
wtensor7s = PluralConstructor("wtensor7s", wtensor7)

iscalars = PluralConstructor("iscalars", iscalar)
ivectors = PluralConstructor("ivectors", ivector)
irows = PluralConstructor("irows", irow)
icols = PluralConstructor("icols", icol)
imatrices = PluralConstructor("imatrices", imatrix)
itensor3s = PluralConstructor("itensor3s", itensor3)
itensor4s = PluralConstructor("itensor4s", itensor4)
itensor5s = PluralConstructor("itensor5s", itensor5)
itensor6s = PluralConstructor("itensor6s", itensor6)
itensor7s = PluralConstructor("itensor7s", itensor7)

lscalars = PluralConstructor("lscalars", lscalar)
lvectors = PluralConstructor("lvectors", lvector)
lrows = PluralConstructor("lrows", lrow)
lcols = PluralConstructor("lcols", lcol)
lmatrices = PluralConstructor("lmatrices", lmatrix)
ltensor3s = PluralConstructor("ltensor3s", ltensor3)
ltensor4s = PluralConstructor("ltensor4s", ltensor4)
ltensor5s = PluralConstructor("ltensor5s", ltensor5)
ltensor6s = PluralConstructor("ltensor6s", ltensor6)
ltensor7s = PluralConstructor("ltensor7s", ltensor7)

fscalars = PluralConstructor("fscalars", fscalar)
fvectors = PluralConstructor("fvectors", fvector)
frows = PluralConstructor("frows", frow)
fcols = PluralConstructor("fcols", fcol)
fmatrices = PluralConstructor("fmatrices", fmatrix)
ftensor3s = PluralConstructor("ftensor3s", ftensor3)
ftensor4s = PluralConstructor("ftensor4s", ftensor4)
ftensor5s = PluralConstructor("ftensor5s", ftensor5)
ftensor6s = PluralConstructor("ftensor6s", ftensor6)
ftensor7s = PluralConstructor("ftensor7s", ftensor7)

dscalars = PluralConstructor("dscalars", dscalar)
dvectors = PluralConstructor("dvectors", dvector)
drows = PluralConstructor("drows", drow)
dcols = PluralConstructor("dcols", dcol)
dmatrices = PluralConstructor("dmatrices", dmatrix)
dtensor3s = PluralConstructor("dtensor3s", dtensor3)
dtensor4s = PluralConstructor("dtensor4s", dtensor4)
dtensor5s = PluralConstructor("dtensor5s", dtensor5)
dtensor6s = PluralConstructor("dtensor6s", dtensor6)
dtensor7s = PluralConstructor("dtensor7s", dtensor7)

cscalars = PluralConstructor("cscalars", cscalar)
cvectors = PluralConstructor("cvectors", cvector)
crows = PluralConstructor("crows", crow)
ccols = PluralConstructor("ccols", ccol)
cmatrices = PluralConstructor("cmatrices", cmatrix)
ctensor3s = PluralConstructor("ctensor3s", ctensor3)
ctensor4s = PluralConstructor("ctensor4s", ctensor4)
ctensor5s = PluralConstructor("ctensor5s", ctensor5)
ctensor6s = PluralConstructor("ctensor6s", ctensor6)
ctensor7s = PluralConstructor("ctensor7s", ctensor7)

zscalars = PluralConstructor("zscalars", zscalar)
zvectors = PluralConstructor("zvectors", zvector)
zrows = PluralConstructor("zrows", zrow)
zcols = PluralConstructor("zcols", zcol)
zmatrices = PluralConstructor("zmatrices", zmatrix)
ztensor3s = PluralConstructor("ztensor3s", ztensor3)
ztensor4s = PluralConstructor("ztensor4s", ztensor4)
ztensor5s = PluralConstructor("ztensor5s", ztensor5)
ztensor6s = PluralConstructor("ztensor6s", ztensor6)
ztensor7s = PluralConstructor("ztensor7s", ztensor7)

__all__ = [
    "bcol",
    "bcols",
    "bmatrices",
    "bmatrix",
    "brow",
    "brows",
    "bscalar",
    "bscalars",
    "btensor3",
    "btensor3s",
    "btensor4",
    "btensor4s",
    "btensor5",
    "btensor5s",
    "btensor6",
    "btensor6s",
    "btensor7",
    "btensor7s",
    "bvector",
    "bvectors",
    "ccol",
    "ccols",
    "cmatrices",
    "cmatrix",
    "crow",
    "crows",
    "cscalar",
    "cscalars",
    "ctensor3",
    "ctensor3s",
    "ctensor4",
    "ctensor4s",
    "ctensor5",
    "ctensor5s",
    "ctensor6",
    "ctensor6s",
    "ctensor7",
    "ctensor7s",
    "cvector",
    "cvectors",
    "dcol",
    "dcols",
    "dmatrices",
    "dmatrix",
    "drow",
    "drows",
    "dscalar",
    "dscalars",
    "dtensor3",
    "dtensor3s",
    "dtensor4",
    "dtensor4s",
    "dtensor5",
    "dtensor5s",
    "dtensor6",
    "dtensor6s",
    "dtensor7",
    "dtensor7s",
    "dvector",
    "dvectors",
    "fcol",
    "fcols",
    "fmatrices",
    "fmatrix",
    "frow",
    "frows",
    "fscalar",
    "fscalars",
    "ftensor3",
    "ftensor3s",
    "ftensor4",
    "ftensor4s",
    "ftensor5",
    "ftensor5s",
    "ftensor6",
    "ftensor6s",
    "ftensor7",
    "ftensor7s",
    "fvector",
    "fvectors",
    "icol",
    "icols",
    "imatrices",
    "imatrix",
    "irow",
    "irows",
    "iscalar",
    "iscalars",
    "itensor3",
    "itensor3s",
    "itensor4",
    "itensor4s",
    "itensor5",
    "itensor5s",
    "itensor6",
    "itensor6s",
    "itensor7",
    "itensor7s",
    "ivector",
    "ivectors",
    "lcol",
    "lcols",
    "lmatrices",
    "lmatrix",
    "lrow",
    "lrows",
    "lscalar",
    "lscalars",
    "ltensor3",
    "ltensor3s",
    "ltensor4",
    "ltensor4s",
    "ltensor5",
    "ltensor5s",
    "ltensor6",
    "ltensor6s",
    "ltensor7",
    "ltensor7s",
    "lvector",
    "lvectors",
    "wcol",
    "wcols",
    "wmatrices",
    "wmatrix",
    "wrow",
    "wrows",
    "wscalar",
    "wscalars",
    "wtensor3",
    "wtensor3s",
    "wtensor4",
    "wtensor4s",
    "wtensor5",
    "wtensor5s",
    "wtensor6",
    "wtensor6s",
    "wtensor7",
    "wtensor7s",
    "wvector",
    "wvectors",
    "zcol",
    "zcols",
    "zmatrices",
    "zmatrix",
    "zrow",
    "zrows",
    "zscalar",
    "zscalars",
    "ztensor3",
    "ztensor3s",
    "ztensor4",
    "ztensor4s",
    "ztensor5",
    "ztensor5s",
    "ztensor6",
    "ztensor6s",
    "ztensor7",
    "ztensor7s",
    "zvector",
    "zvectors",
]
