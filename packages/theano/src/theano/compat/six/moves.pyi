# Written by tools/generate_names.py from names.tsv.
# fmt: off
import builtins as _builtins
builtins = _builtins
from builtins import filter as filter
from builtins import input as input
from builtins import map as map
from builtins import range as range
from builtins import range as _range
xrange = _range
from builtins import zip as zip
from collections import UserDict as UserDict
from collections import UserList as UserList
from collections import UserString as UserString
import configparser as _configparser
configparser = _configparser
import copyreg as _copyreg
copyreg = _copyreg
from functools import reduce as reduce
import html.entities as _html_entities
html_entities = _html_entities
import html.parser as _html_parser
html_parser = _html_parser
import http.client as _http_client
http_client = _http_client
import http.cookiejar as _http_cookiejar
http_cookiejar = _http_cookiejar
import http.cookies as _http_cookies
http_cookies = _http_cookies
import http.server as _BaseHTTPServer
BaseHTTPServer = _BaseHTTPServer
from importlib import reload as _reload
reload_module = _reload
from io import StringIO as StringIO
from io import StringIO as _StringIO
cStringIO = _StringIO
from itertools import filterfalse as filterfalse
from itertools import zip_longest as zip_longest
from os import getcwd as getcwd
from os import getcwdb as getcwdb
from os import getcwd as _getcwd
getcwdu = _getcwd
import pickle as _cPickle
cPickle = _cPickle
import queue as _queue
queue = _queue
import reprlib as _reprlib
reprlib = _reprlib
from shlex import quote as _quote
shlex_quote = _quote
import socketserver as _socketserver
socketserver = _socketserver
from subprocess import getoutput as getoutput
from sys import intern as intern
import tkinter as _tkinter
tkinter = _tkinter
import urllib.error as _urllib_error
urllib_error = _urllib_error
import urllib.parse as _urllib_parse
urllib_parse = _urllib_parse
import urllib.request as _urllib_request
urllib_request = _urllib_request
import urllib as _urllib
urllib = _urllib
import urllib.robotparser as _urllib_robotparser
urllib_robotparser = _urllib_robotparser
import xmlrpc.client as _xmlrpc_client
xmlrpc_client = _xmlrpc_client
import xmlrpc.server as _xmlrpc_server
xmlrpc_server = _xmlrpc_server
