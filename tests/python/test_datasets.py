"""Datasets, on files in their formats that the tests write."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import pickle
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dataset_files import (
    cifar10_files,
    cifar100_files,
    cifar_images,
    idx,
    mnist_images,
    packed,
    python2_pickle,
    write_mnist,
)
from file_server import Site, serving
from PIL import Image

import flambeau
from flambeau.datasets import (
    CIFAR10,
    CIFAR100,
    MNIST,
    FashionMNIST,
    ImageFolder,
    TextCorpus,
    Vocabulary,
    read_idx,
    read_image,
)
from flambeau.datasets.python2_pickle import read_python2_pickle
from flambeau.datasets.transforms import to_tensor
from flambeau.utils.data import DataLoader


def write(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


# IDX and MNIST ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "i4", "f4", "f8"])
@pytest.mark.parametrize("shape", [(5,), (2, 3), (0, 4), (2, 1, 3, 2)])
@pytest.mark.parametrize("zipped", [False, True])
def test_idx(dtype: str, shape: tuple[int, ...], zipped: bool, tmp_path: Path) -> None:
    array = (np.arange(np.prod(shape)) * 37 % 120).astype(dtype).reshape(shape)
    data = idx(array)
    (tmp_path / "it").write_bytes(gzip.compress(data, mtime=0) if zipped else data)
    found = read_idx(tmp_path / "it").numpy()
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


GOOD = idx(np.ones((3, 4), np.uint8))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "it begins with $"),
        (b"\0\0\x08", "it begins with 00 00 08"),
        (b"<html>", "it begins with 3c 68 74 6d"),
        (GOOD[:2] + b"\x07" + GOOD[3:], "it begins with"),
        (GOOD[:9], "it ends within its header"),
        (GOOD[:-1], "declares 12 bytes, there are only 11"),
        (GOOD + b"x", "declares 12 bytes, there are more"),
        (b"\0\0\x08\x03" + b"\xff" * 12, "declares 79228162458924105385300197375 bytes, more than"),
        (b"\0\0\x08\xff" + b"\xff" * 1020, "more than the file can hold"),
        (b"\0\0\x08\x64" + b"\0\0\0\x01" * 100 + b"x", "declares 100 sizes, up to 1$"),
        (b"\0\0\x08\x05\0\0\0\0" + b"\xff" * 16, "declares 5 sizes, up to 4294967295"),
        (gzip.compress(GOOD, mtime=0)[:-3], "Compressed file ended"),
        (gzip.compress(GOOD, mtime=0)[:-6] + b"123456", "CRC check failed"),
        (
            gzip.compress(GOOD, mtime=0)[:12] + b"\xff\xff" + gzip.compress(GOOD, mtime=0)[14:],
            "Error -3|invalid",
        ),
        (
            gzip.compress(idx(np.zeros(10**6, np.uint8))[:8] + bytes(2 * 10**6), mtime=0),
            "there are more",
        ),
    ],
)
def test_broken_idx(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "it").write_bytes(data)
    with pytest.raises(RuntimeError, match=f"it is no IDX file, or broken: .*({message})"):
        read_idx(tmp_path / "it")


@pytest.mark.parametrize("kind", [MNIST, FashionMNIST])
@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("nested", [False, True])
def test_mnist_from_a_folder(kind: type[MNIST], zipped: bool, nested: bool, tmp_path: Path) -> None:
    write_mnist(tmp_path / kind.__name__ / "raw" if nested else tmp_path, packed=zipped)
    for train, count in ((True, 20), (False, 8)):
        dataset = kind(tmp_path, train)
        assert len(dataset) == count
        np.testing.assert_array_equal(dataset.data.numpy(), mnist_images(count))
        assert dataset.targets.tolist() == [n % 10 for n in range(count)]
        image, target = dataset[3]
        assert (image.shape, image.dtype, target, type(target)) == (
            flambeau.Size([1, 28, 28]),
            flambeau.uint8,
            3,
            int,
        )
        with pytest.raises(IndexError):
            dataset[count]
    assert dataset.class_to_idx[dataset.classes[9]] == 9
    dataset = kind(str(tmp_path), transform=to_tensor, target_transform=lambda digit: digit * 2)
    images, targets = next(iter(DataLoader(dataset, 4)))
    np.testing.assert_allclose(images[:, 0].numpy(), mnist_images(4) / np.float32(255), rtol=1e-6)
    assert targets.tolist() == [0, 2, 4, 6]


def test_mnist_without_files(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"MNIST: train-images.* download=True fetches it"):
        MNIST(tmp_path)
    write_mnist(tmp_path)
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes(idx(np.zeros(19, np.uint8)))
    with pytest.raises(RuntimeError, match="20 images, but 19 labels"):
        MNIST(tmp_path)
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes(idx(np.full(20, 10, np.uint8)))
    with pytest.raises(RuntimeError, match=r"labels are within \[10, 10\], there are 10 classes"):
        MNIST(tmp_path)
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes(idx(np.zeros(20, np.int16)))
    with pytest.raises(RuntimeError, match="expected bytes of 1 dimensions, got flambeau.int16"):
        MNIST(tmp_path)


def test_mnist_from_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_mnist(tmp_path / "there")
    site = Site({f"/{p.name}": p.read_bytes() for p in (tmp_path / "there").iterdir()})
    sums = {name[1:]: f"md5:{hashlib.md5(data).hexdigest()}" for name, data in site.files.items()}
    with serving(site):
        monkeypatch.setattr(MNIST, "mirrors", ("http://127.0.0.1:9/", f"{site.url}/"))
        with pytest.raises(RuntimeError, match="gave a file whose md5 is"):
            MNIST(tmp_path / "here", download=True)
        order = sorted(sums, key=list(MNIST.checksums).index)
        monkeypatch.setattr(MNIST, "checksums", {name: sums[name] for name in order})
        site.breaks_after = [30]
        assert len(MNIST(tmp_path / "here", download=True)) == 20
        assert sorted(os.listdir(tmp_path / "here/MNIST/raw")) == sorted(order[:2])
    assert len(MNIST(tmp_path / "here", download=True)) == 20
    assert len(site.asked) == 4


# CIFAR --------------------------------------------------------------------------------------------


def test_the_pickles_of_the_tests_are_pickles() -> None:
    """Python's own reader agrees with the writer, and with ours."""
    for data in {**cifar10_files(), **cifar100_files()}.values():
        theirs, ours = pickle.loads(data, encoding="bytes"), read_python2_pickle(data, "it")
        assert list(ours) == list(theirs)
        for key, value in theirs.items():
            if isinstance(value, np.ndarray):
                np.testing.assert_array_equal(ours[key].numpy(), value)
                assert ours[key].is_contiguous()
            else:
                assert ours[key] == value


@pytest.mark.parametrize("archived", [False, True])
def test_cifar_from_a_folder(archived: bool, tmp_path: Path) -> None:
    for name, files in (("10", cifar10_files()), ("100", cifar100_files())):
        if archived:
            others = {"../escaped": b"!", "elsewhere/file": b"!"}
            (tmp_path / f"cifar-{name}-python.tar.gz").write_bytes(packed({**others, **files}))
        else:
            write(tmp_path, files)
    dataset = CIFAR10(tmp_path)
    np.testing.assert_array_equal(dataset.data.numpy(), cifar_images(0, 20).reshape(20, 3, 32, 32))
    assert dataset.targets.tolist() == [n % 10 for n in range(20)]
    assert dataset.classes[3] == "cat"
    image, target = CIFAR10(tmp_path, train=False)[1]
    assert (image.shape, target) == (flambeau.Size([3, 32, 32]), 1)
    np.testing.assert_array_equal(image.flatten().numpy(), cifar_images(21, 1)[0])
    hundred = CIFAR100(tmp_path, train=False, transform=to_tensor)
    assert hundred.targets.tolist() == [30, 35, 40, 45, 50, 55]
    assert hundred.class_to_idx["thing 55"] == 55
    wanted = cifar_images(8, 1).reshape(3, 32, 32) / np.float32(255)
    np.testing.assert_allclose(hundred[2][0].numpy(), wanted, rtol=1e-6)
    assert not (tmp_path.parent / "escaped").exists()
    assert not (tmp_path / "elsewhere").exists()


def test_cifar_from_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = packed(cifar10_files())
    with serving(Site({"/cifar-10-python.tar.gz": archive}, breaks_after=[1000])) as site:
        monkeypatch.setattr(CIFAR10, "url", f"{site.url}/cifar-10-python.tar.gz")
        monkeypatch.setattr(CIFAR10, "checksum", f"md5:{hashlib.md5(archive).hexdigest()}")
        assert len(CIFAR10(tmp_path, download=True)) == 20
    assert len(CIFAR10(tmp_path, train=False, download=True)) == 4
    assert site.asked == [None, "bytes=1000-"]


def damaged_header() -> bytes:
    header = bytearray(tarfile.TarInfo("cifar-10-batches-py/test_batch").tobuf())
    header[:1] = b"d"
    return bytes(header)


def test_cifar_without_files(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"lacks data_batch_1, .*download=True fetches it"):
        CIFAR10(tmp_path)
    archive = tmp_path / "cifar-10-python.tar.gz"
    whole = packed(cifar10_files())
    for data, message in (
        (whole[:-100], "is no archive, or broken"),
        (whole[: len(whole) // 2], "is no archive, or broken"),
        (b"<html>", "is no archive, or broken"),
        (whole[:-8] + b"12345678", "is no archive, or broken.*CRC"),
        (packed({"cifar-10-batches-py/test_batch": bytes(64 << 20)}), "has 67108864 bytes"),
        (gzip.compress(b"x" * 2000), "the tar header|invalid literal"),
        (gzip.compress(gzip.decompress(whole)[:5000]), "it ends within 'cifar-10-batches-py/data"),
        (gzip.compress(damaged_header()), "its checksum is wrong"),
        (
            packed({"cifar-10-batches-py/test_batch": b"x"}),
            "lacks cifar-10-batches-py/data_batch_1",
        ),
    ):
        archive.write_bytes(data)
        with pytest.raises(RuntimeError, match=message):
            CIFAR10(tmp_path)
        assert os.listdir(tmp_path) == [archive.name]


def test_links_in_archives_are_left_there(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        link = tarfile.TarInfo("cifar-10-batches-py/test_batch")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    (tmp_path / "cifar-10-python.tar.gz").write_bytes(buffer.getvalue())
    with pytest.raises(RuntimeError, match="lacks"):
        CIFAR10(tmp_path)
    assert not (tmp_path / "cifar-10-batches-py").exists()


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({b"labels": [1]}, r"no array data of shape \(N, 3072\)"),
        ({b"labels": [1], b"data": np.zeros((1, 5), np.uint8)}, "no array data"),
        ({b"labels": [b"1"], b"data": cifar_images(0, 1)}, "no list of ints labels"),
        ({b"labels": [True], b"data": cifar_images(0, 1)}, "no list of ints labels"),
        ({b"labels": [1, 2], b"data": cifar_images(0, 1)}, "1 images, but 2 labels"),
        ({b"labels": [10], b"data": cifar_images(0, 1)}, r"labels outside \[0, 9\]"),
        ({b"labels": [-1], b"data": cifar_images(0, 1)}, r"labels outside \[0, 9\]"),
        ({b"labels": [1], b"data": cifar_images(0, 1).astype("u2")}, "an array of dtype b'u2'"),
        ([1], r"no dict, but \[1\]"),
    ],
)
def test_wrong_batches(batch: Any, message: str, tmp_path: Path) -> None:
    write(tmp_path, cifar10_files())
    (tmp_path / "cifar-10-batches-py/data_batch_3").write_bytes(python2_pickle(batch))
    with pytest.raises(RuntimeError, match=f"data_batch_3.* {message}"):
        CIFAR10(tmp_path)


class Runs:
    def __reduce__(self) -> Any:
        return os.mkdir, ("/tmp/a_pickle_ran",)


BYTES = b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R"
ARRAY = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pickle.dumps(Runs(), 2), "names posix.mkdir|names nt.mkdir"),
        (pickle.dumps(Runs(), 4), "names posix.mkdir|names nt.mkdir"),
        (b"\x80\x02cbuiltins\neval\n.", "names builtins.eval, which is none of numpy.ndarray, "),
        (b"\x80\x02ctorch\nfloat32\n.", "names torch.float32, which is none of"),
        (b"\x80\x02ccollections\nOrderedDict\n)R.", "names collections.OrderedDict"),
        (b"\x80\x02cnumpy\nndarray\n)R.", "a call of numpy.ndarray"),
        (b"\x80\x02cnumpy\nndarray\n}b.", "a state for a Constructor"),
        (b"\x80\x02cnumpy\ndtype\n.", "numpy.dtype as a value"),
        (b"\x80\x02}U\x01acnumpy\ndtype\ns.", "numpy.dtype as a value"),
        (b"\x80\x02cnumpy\ndtype\n(U\x02u2K\x00K\x01tR.", "dtype b'u2'; those"),
        (b"\x80\x02cnumpy\ndtype\n(U\x02O8K\x00K\x01tR.", "dtype b'O8'; those"),
        (b"\x80\x02cnumpy.core.multiarray\n_reconstruct\n)R.", "missing 1 required"),
        (b"\x80\x02cnumpy.core.multiarray\n_reconstruct\nN\x85R.", "an array of type None"),
        (b"\x80\x02" + ARRAY + b"Nb.", "state of an array has 5 parts, and is None"),
        (b"\x80\x02" + ARRAY + b"(K\x01K\x05NNNtb.", "sizes are to be"),
        (b"\x80\x02" + ARRAY + b"(K\x01(K\x05tNNNtb.", "dtype None in None"),
        (b"\x80\x02" + ARRAY + b"(K\x01(K\x05t" + BYTES + b"NU\x02abtb.", "in b'ab'"),
        (b"\x80\x02" + ARRAY + b"(K\x01(J\xff\xff\xff\xfft" + BYTES + b"NU\x00tb.", "is -1"),
        (b"\x80\x02" + ARRAY + b"(K\x01(" + b"K\x01" * 99 + b"t" + BYTES + b"NU\x01atb.", "64"),
        (b"\x80\x02r\x00\x00\x00\x10.", "memo index 268435456"),
        (b"\x80\x02}r\x00\x00\x00\x10.", "memo index 268435456"),
        (b"\x80\x02h\x07.", "memo index 7 was never set"),
        (b"\x80\x02T\xff\xff\xff\x7f", "2147483647 bytes are to follow, and there are 0"),
        (b"\x80\x02T\xff\xff\xff\xff", "-1 bytes are to follow"),
        (b"\x80\x02}(Nu.", "a key without a value"),
        (b"\x80\x02e.", "it ends an object that it did not begin"),
        (b"\x80\x02Na.", "takes more objects than it makes"),
        (b"\x80\x02}", "1 bytes are to follow"),
        (b"\x80\x02cnumpy", "6 bytes are to follow|bytes are to follow"),
        (b"", "1 bytes are to follow"),
        (b"\x80\x02P1\n.", "a reference to '1', where none may be"),
    ],
)
def test_hostile_pickles(data: bytes, message: str) -> None:
    with pytest.raises(pickle.UnpicklingError, match=f"load: it: at byte .*{message}"):
        read_python2_pickle(data, "it")
    assert not os.path.exists("/tmp/a_pickle_ran")


FUZZ = """
import pickle, random, resource, sys
sys.path.insert(0, sys.argv[1])
from dataset_files import cifar10_files, cifar100_files
from flambeau.datasets.python2_pickle import read_python2_pickle
resource.setrlimit(resource.RLIMIT_AS, (1 << 30,) * 2)
chance = random.Random(3)
files = [*cifar10_files(1).values(), *cifar100_files(1).values()]
codes = b"\\x80}](N\\x88\\x89KMJ\\x8aUTXqrhj\\x85\\x86\\x87taesucRb.)"
read = refused = 0
for _ in range(20000):
    data = bytearray(chance.choice(files))
    head = len(data) if chance.random() < 0.2 else 300
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        i = chance.randrange(min(head, len(data)))
        what = chance.random()
        if what < 0.4:
            data[i] ^= 1 << chance.randrange(8)
        elif what < 0.7:
            data[i] = chance.choice(codes)
        elif what < 0.85:
            del data[i : i + chance.randrange(1, 9)]
        else:
            data[i:i] = bytes(chance.choices(codes, k=chance.randrange(1, 9)))
    try:
        read_python2_pickle(bytes(data), "it")
        read += 1
    except pickle.UnpicklingError:
        refused += 1
print(read, refused)
"""


def test_mutated_pickles() -> None:
    """20,000 under 1 GB: read or refused, nothing else."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment |= {"OPENBLAS_NUM_THREADS": "1", "FLAMBEAU_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", FUZZ, str(Path(__file__).parent)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    read, refused = map(int, done.stdout.split())
    assert read > 500 and refused > 5000


# Folders of images --------------------------------------------------------------------------------


def picture(path: Path, color: tuple[int, ...], mode: str = "RGB") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, (4, 3), color if len(color) > 1 else color[0]).save(path)


def test_a_folder_of_images(tmp_path: Path) -> None:
    picture(tmp_path / "dog/b.png", (1, 2, 3))
    picture(tmp_path / "dog/a.PNG", (4, 5, 6))
    picture(tmp_path / "cat/deep/er/c.bmp", (7, 8, 9))
    picture(tmp_path / "cat/grey.png", (50,), "L")
    (tmp_path / "cat/notes.txt").write_text("no image")
    (tmp_path / "file.png").write_text("in no class")
    dataset = ImageFolder(tmp_path)
    assert dataset.classes == ["cat", "dog"]
    assert dataset.targets == [0, 0, 1, 1]
    assert [Path(path).name for path, _ in dataset.imgs] == ["grey.png", "c.bmp", "a.PNG", "b.png"]
    image, target = dataset[1]
    assert (image.shape, image.dtype, target) == (flambeau.Size([3, 3, 4]), flambeau.uint8, 0)
    assert image[:, 0, 0].tolist() == [7, 8, 9]
    assert dataset[0][0][:, 2, 3].tolist() == [50, 50, 50]
    named = ImageFolder(
        tmp_path, is_valid_file=lambda path: path.endswith(".txt"), loader=Path, allow_empty=True
    )
    assert [path.name for path, _ in named] == ["notes.txt"]
    loader = DataLoader(ImageFolder(tmp_path, transform=to_tensor), 4, num_workers=2)
    assert next(iter(loader))[0].shape == (4, 3, 3, 4)


def test_pixels_are_those_of_the_file(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "it.png")
    np.testing.assert_array_equal(
        read_image(tmp_path / "it.png").numpy(), pixels.transpose(2, 0, 1)
    )


def test_folders_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="has no folders"):
        ImageFolder(tmp_path)
    with pytest.raises(FileNotFoundError):
        ImageFolder(tmp_path / "nowhere")
    (tmp_path / "cat").mkdir()
    with pytest.raises(FileNotFoundError, match="cat has no images"):
        ImageFolder(tmp_path)
    assert len(ImageFolder(tmp_path, allow_empty=True)) == 0
    picture(tmp_path / "cat/whole.png", (1, 2, 3))
    whole = (tmp_path / "cat/whole.png").read_bytes()
    (tmp_path / "cat/whole.png").unlink()
    for data in (b"", b"no image", whole[:50], whole[:30]):
        (tmp_path / "cat/broken.png").write_bytes(data)
        with pytest.raises(RuntimeError, match=r"broken.png is no image, or broken"):
            ImageFolder(tmp_path)[0]


# Text ---------------------------------------------------------------------------------------------


def test_words(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("the cat  sat\non the\tmat\n\n", encoding="utf-8")
    (tmp_path / "b").write_text("the end", encoding="utf-8")
    corpus = TextCorpus([tmp_path / "a", str(tmp_path / "b")], length=3)
    lines = (["the", "cat", "sat"], ["on", "the", "mat"], [], ["the", "end"])
    text = [word for line in lines for word in (*line, "<eos>")]
    assert corpus.vocabulary.decode(corpus.indices) == text
    assert corpus.vocabulary.tokens[:2] == ("<eos>", "the")
    assert len(corpus.vocabulary) == 7
    assert len(corpus) == 3
    tokens, following = corpus[2]
    assert corpus.vocabulary.decode(tokens) == text[6:9]
    assert corpus.vocabulary.decode(following) == text[7:10]
    assert corpus.text(corpus.indices) == "the cat sat\non the mat\n\nthe end\n"
    assert [t.tolist() for t in corpus[-1]] == [t.tolist() for t in corpus[2]]
    with pytest.raises(IndexError, match="index 3 is out of range for 3 samples"):
        corpus[3]
    (tmp_path / "c").write_text("the dog")
    with pytest.raises(KeyError, match="there is no token 'dog'"):
        TextCorpus(tmp_path / "c", vocabulary=corpus.vocabulary)


def test_characters(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("héé\nllo", encoding="utf-8")
    corpus = TextCorpus(tmp_path / "a", "character", length=2)
    assert corpus.text(corpus.indices) == "héé\nllo"
    assert sorted(corpus.vocabulary.tokens) == sorted("hélo\n")
    batch = next(iter(DataLoader(corpus, 3)))
    assert [part.shape for part in batch] == [(3, 2), (3, 2)]
    (tmp_path / "a").write_bytes(b"\xff\xfe")
    with pytest.raises(RuntimeError, match="a is no UTF-8 text"):
        TextCorpus(tmp_path / "a", "character")


@pytest.mark.parametrize(
    ("options", "tokens"),
    [
        ({}, ["b", "a", "<eos>", "c"]),
        ({"min_count": 2}, ["<unk>", "b", "a"]),
        ({"max_size": 4}, ["b", "a", "<eos>", "c"]),
        ({"max_size": 3}, ["<unk>", "b", "a"]),
        ({"max_size": 1}, ["<unk>"]),
        ({"max_size": 2, "min_count": 2}, ["<unk>", "b"]),
    ],
)
def test_sizes_of_vocabularies(options: Any, tokens: list[str], tmp_path: Path) -> None:
    (tmp_path / "a").write_text("b b b a a c")
    corpus = TextCorpus(tmp_path / "a", **options)
    assert sorted(corpus.vocabulary.tokens) == sorted(tokens)
    words = [w if w in tokens else "<unk>" for w in ["b", "b", "b", "a", "a", "c", "<eos>"]]
    assert corpus.vocabulary.decode(corpus.indices) == words


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: TextCorpus(path, "letter"), "level must be 'word' or 'character'"),
        (lambda path: TextCorpus(path, length=0), "length must be a positive int"),
        (lambda path: TextCorpus(path, min_count=-1), "min_count must be"),
        (lambda path: TextCorpus(path, max_size=1.5), "max_size must be"),
        (lambda path: Vocabulary(["a", "b", "a"]), "the token 'a' comes twice"),
        (lambda path: Vocabulary(["a"], "b"), "unknown, 'b', is none of the tokens"),
    ],
)
def test_mistakes(make: Callable[[Path], Any], message: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    with pytest.raises(ValueError, match=message):
        make(tmp_path / "a")
