"""Questions of programs before they use connectionist temporal classification, a library in Theano 1.0."""


def ctc_present() -> bool:
    """Tell whether the loss can be computed: it can, no library is needed.

    Examples
    --------
    >>> from theano.tensor.nnet import ctc as nnet_ctc
    >>> nnet_ctc.ctc_present()
    True
    """
    return True


def ctc_available() -> bool:
    """Tell whether the loss can be computed; see :func:`ctc_present`.

    Examples
    --------
    >>> from theano.tensor.nnet import ctc as nnet_ctc
    >>> nnet_ctc.ctc_available()
    True
    """
    return ctc_present()


# Programs read these where the answer is no.
for _question in (ctc_present, ctc_available):
    vars(_question).update(avail=True, msg=None, path=None)
