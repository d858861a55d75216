"""Archives with earlier names of modules, and the tables of these names."""

from __future__ import annotations

import base64
import importlib
import io
import unittest

import numpy as np
import scipy.sparse

import theano
from theano.misc.pkl_utils import load

LAYERS = ("graph", "optimize", "linker_c", "gpuarray", "tensor", "scan", "sparse")
#: Inputs and output of a map over rows and a sum of a sparse matrix, dumped when each layer had many small modules.
ARCHIVE = (
    "P)h>@EdT%j2mk;8ApnjO)HMJ9|NsC0|Nj916aaSt01yDM0000000012000000001+>=)`A5Xs0;#!#)El3JWxq;934Zj)xAuA`uymS0p-l$a"
    "NvUzCyx5_e0?DNY577iT0EqyqUG#ySc{nmP)#3S<K=1{CnY9?EclP#jQN07{EE002-+0|YGq000O8001EX#;B%N|NsC0|NsC02LKcRVRCX|d"
    "0#LA01yC#000000000+000000001+>=)`A5Xs0;#!#)El3JWxq;934Zj)xBuA`uymS0p-l$aNvUzCyx5_e0?DNY577iT0EqyqUGnmP)#3KRh"
    "@1_lNP08mQ<1QY-O00;mGe0^OC{fh$s1^@tF5C8xJ0001RYiylYTW=dh6pj<emy{%>&_=DGl!DX*kP8LzfC{2CEdtY3i(8}$qSe?t_E~4WyX"
    "?+3@k0d_q}0+pAa(kLct8UBM%4#+Ktg>({ROE1fEVufJDfASzO0>#L?VxOW_D)2bIy0ZGk!gLrLuiY|H=CWaOQeuBVaz1Oup&|JPd8mEt#%o"
    "aWfQ5a3u>aU(o~VvXZyQYf6H<p%;|Su|Ub0)4KB#3v5<(=(RQVqMA46<)rOed{xP;%UZb8q_^U7T#yxQAG=vou!fR3FR&Z7tAsLSW)+(q=`-"
    "S&r{Y6SQ|Gc;xS-A}+~0~P^L58#;_=7uh!7Z#7{)~fMMG{2eHMhAOte%dsv2_N#zrSNWWmHC;RSRM?2*MYArFoRWPv_-2@l?WP_+DmEw;?-_"
    "UfUM-&W;GSvcJCtjOU{DPCREJ`k!3<8pU$WQ?U`)^O{R86%&m=)qCnK>>;|1>4{@nAV;Nl>rCjRQ!J04Y|4(w3twGq88Q^?1WutDcl8nW3+H"
    "@xd8i9m>@@oz)X3}K!Dp5hc~=>N&5x;c*OUeHXboA3)RSWgzbhHF~<%Cor|j>kJ~)ijdad-{Yc;|<DQT4@FJnRG5RG1c_#NHZb-ta164BPc*"
    "$IazMt#bBr~=ukA+oSnZkM$cEmQrP9hhD9Of1<(y+TDC+lA1TI$lU@%fbT%z(4851!HcKD(rCImzW*ns;GTjh~b(R(j7}fO+nUz~*T2-n3ns"
    "^0wP3^<J2)ICia19s?{ix816G4iT(ExC{a~YVIq2b72?EC9FnU;k35$?4Ug(_<;r7(iwVZoIDjhvQD1Pnij9K$Ps4bTRQ2BHP02yrgR-<;(d"
    "v|j_oe<z^q{mF<DqcGrPM;7LWFxdpw<Cj^nME7Ro@4A(0Fy%FGHTT)>&-xyZMU%qN?nr{t^~wfuI;wOA0ac4<YOVlo$^S8GCb5Kx~BJpmYWQ"
    "dA`$y<tEn&4=7@G7J#mBzX8~^DbLUVU4+FoY(O)@jF|=r=DG~NGp4RGh}x4WwC_TrGvNDgVkeTZ$)keeTOQdvC<@m<HKaYY@3Itb?UtX@1<e"
    "m0GD^9<6mW=T|-S+^hB3?=?$-L;J~#s$x^9=BImGH)nX)a!#Q?wAjdu>BYL@!sI70;mL19sRDNV2=0;Al$ReSE50_N;U*JCQ848>2IC>U7Us"
    "4xo@aE`~&~5Ar_=w3}X+Lm>w^r<sD%r8_Bk9`yVIE_69Tt>KKyeK)JIQ<5)69i#qz%I$V0g+0Y*=DG-ozbn&44e-Ei!Anbx-F)Q83@sye6jS"
    "Tr=dahN_&AMWmZ8ka7YQP|oyvrbmK`Lpufr%#frdq%D$lVZ07|VZS%+nz0)6Ho<wfJD-sS7Md$yqb77@ahdzVbSOU;u-pd`=BkJ*sEv}Qp8p"
    "sBFmdxb8|qjuvn{$D7&7k%UOnEV5NCR$hIx9aBez*tPy?@RwwO=inQizH!+H!~!PoFjIRoF8$KX5sd=EdskNEu)etyQ!FF5yW2Yy?C-;;CU5"
    "BSr7zdG<Y?F|3Gzs<4C*jPu-Qb9%0!Goe2Y6t?_hP9o5kOAtFEShyRMqsTcu%1s(A;FpTTr+Z`5dEXe7{<eHxO4#s<)n%0mz5EXi1TIehZMM"
    "<k<BT@#NZ1#QHff80nD;ho9Z|Uf-JIH&5Z9aaD8O=<}_}Q7LbJvv$8l;;F@>iVnX!bASQT_$$Qqlidd14G(sm~LQW&##eTmp91rMy9wKb}2;"
    "0M3V0b9OFzA&7<dvQ%q(Q`Si_qzE`e^0E$-u)b6m}oOeA+<=M;tV$umi_;*JOs*=o`eNht!rU$K#dF!`Q4hKQV%)0(0f@bvEUL%O|=wXU$sX"
    "ih+teh3VUHS?rHV6N@q%Da1R|<x#ih!|D{u)QGZcGgAy&H$X2Ww4GYCTNQ}vb!Xt3Ii-`sbS=9@5;Exp7F`c!*YGxkQx2<9mgU1_-Ga<o7(}"
    "%&O71f$Z#65_ohxV3g{KQ}eJ;&6AE%I1vEguQ6E(-%j(`>yx)z>@oKZ1PK?A~aZHvQWA~zqyc7&JF|KMe`8N0@}n4d`I7YFD022Km;&GXc}M"
    "$H9sU-J=c<pd^O|4MTR9+lZ;l50a2=-XW8ZF)Xu<FCP3#>;4Yd5ncgd<O*LP4dCP{#NLR>sv;&`L<SvVTmFcU|OnCBchhRPy2(a+Ps4d*X|t"
    "-=9P3TuJ=-4O9g#@9enTV<Up>C+<?1W!(Wr0i$&6A4wCKIs=o!<u2Kx<H2h7`e3AqeZp_1xp<B|;<_%55i<@=^?@05_U3BjCBz2li9sVPhHH"
    "!8Lwi&V*dh=F{?k!dN4^T@10xbhA000080000X0FD#XG*<us0I&c60096100000000000Du7i0001YP)h*<Edwn8000O8001EX#;B%NMgRZ+"
    "ga7~l2LJ#70000000000fB}jC003cfa$$L2Fi=YY0u%!j0000800?}2T?+k+0{;d80A3IP00RI300000000000Du7r0RRASYiv+U1qJ{B000"
    "930|1o(001cn00000"
)


class TestEarlierNames(unittest.TestCase):
    def test_an_archive_of_before_is_loaded(self) -> None:
        for is_safe in (False, True):
            with self.subTest(safe=is_safe):
                x, s, y = load(io.BytesIO(base64.b85decode(ARCHIVE)), safe=is_safe)
                f = theano.function([x, s], y, mode=theano.Mode("py", None))
                self.assertAlmostEqual(float(f(np.ones((2, 3)), scipy.sparse.csc_matrix(np.eye(2)))), 58.5981254, 6)

    def test_each_name_leads_to_its_module(self) -> None:
        for layer in LAYERS:
            try:
                aliases = importlib.import_module(f"theano_{layer}._module_aliases").ALIASES
            except ModuleNotFoundError:
                continue
            for alias, name in aliases.items():
                with self.subTest(layer=layer, alias=alias):
                    module = importlib.import_module(f"theano_{layer}.{name}")
                    self.assertIs(importlib.import_module(f"theano_{layer}.{alias}"), module)
