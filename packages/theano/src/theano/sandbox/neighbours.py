"""Rectangular neighbourhoods in images, under their older address."""

from theano_tensor.nnet.neighbours import neibs2images as neibs2images

from ..tensor.nnet._images2neibs import Images2Neibs as Images2Neibs, images2neibs as images2neibs
