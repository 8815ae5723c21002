"""Logs for TensorBoard, written with the package tensorboard: scalars, histograms, images, texts.

`tensorboard --logdir runs` shows them.
"""

from __future__ import annotations

import importlib.util
import io
import os
import socket
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from flambeau import Tensor

if importlib.util.find_spec("tensorboard") is None:
    raise ModuleNotFoundError(
        "flambeau.utils.tensorboard needs a package: install it with 'pip install tensorboard'",
        name="tensorboard",
    )

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary
from tensorboard.plugins.hparams import summary_v2 as hparams
from tensorboard.plugins.text import metadata as text_metadata
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util import tensor_util

__all__ = ["SummaryWriter"]

_BINS = 64


class SummaryWriter:
    """Writes a folder of logs, as the `utils.trainer.Trainer` does of its training.

    Args:
        log_dir: the folder; None: one in `runs`, called after the time and the machine.
        comment: what is added to the name of such a folder.
        purge_step: steps from here on that are in the folder already count no more.
        max_queue: how many entries wait in memory.
        flush_secs: after how many seconds they are written.
        filename_suffix: of the file in the folder.

    Raises:
        ModuleNotFoundError: on import, without the package tensorboard.

    Example:
        >>> import os, tempfile
        >>> from flambeau.utils.tensorboard import SummaryWriter
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with SummaryWriter(folder) as writer:
        ...         for step in range(3):
        ...             writer.add_scalar("loss", 1 / (step + 1), step)
        ...     print(*os.listdir(folder))
        events.out.tfevents...
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if log_dir is None:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = Path("runs") / f"{now}_{socket.gethostname()}{comment}"
        self.log_dir = str(log_dir)
        self._open: Callable[[str], Any] = lambda folder: EventFileWriter(
            folder, max_queue, flush_secs, filename_suffix
        )
        self._file = self._open(self.log_dir)
        self._others: dict[str, SummaryWriter] = {}
        if purge_step is not None:
            self._file.add_event(Event(step=purge_step, file_version="brain.Event:2"))

    def get_logdir(self) -> str:
        """The folder."""
        return self.log_dir

    def _add(self, summary: Any, step: int | None, walltime: float | None) -> None:
        event = Event(wall_time=time.time() if walltime is None else walltime, summary=summary)
        if step is not None:
            event.step = int(step)
        self._file.add_event(event)

    def _add_value(self, step: int | None, walltime: float | None, **value: Any) -> None:
        self._add(Summary(value=[Summary.Value(**value)]), step, walltime)

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """A number: a float, a tensor or an array of one element."""
        self._add_value(global_step, walltime, tag=tag, simple_value=float(scalar_value))

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Numbers that one chart shows together: each has a folder of its own."""
        for name, value in tag_scalar_dict.items():
            folder = f"{self.log_dir}/{main_tag.replace('/', '_')}_{name}"
            if folder not in self._others:
                self._others[folder] = SummaryWriter(folder)
            self._others[folder].add_scalar(main_tag, value, global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: int | None = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """How values are distributed.

        Args:
            values: a tensor or array of any shape, not empty.
            bins: what numpy.histogram takes, at most max_bins; "tensorflow": 64 of equal width.
        """
        array = _array(values).astype(np.float64).ravel()
        if array.size == 0:
            raise ValueError("SummaryWriter.add_histogram(): values is empty")
        counts, limits = np.histogram(array, _BINS if bins == "tensorflow" else bins)
        if max_bins is not None and len(counts) > max_bins:
            counts, limits = np.histogram(array, max_bins)
        histogram = HistogramProto(
            min=array.min(),
            max=array.max(),
            num=array.size,
            sum=array.sum(),
            sum_squares=array @ array,
            bucket_limit=limits[1:],
            bucket=counts,
        )
        self._add_value(global_step, walltime, tag=tag, histo=histogram)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """A picture: floats from 0 to 1, or uint8.

        Args:
            img_tensor: of 1, 3 or 4 channels.
            dataformats: what the dimensions are: "CHW", "HWC" or "HW".
        """
        pixels = _pixels(_array(img_tensor), dataformats)
        height, width, channels = pixels.shape
        image = Summary.Image(
            height=height, width=width, colorspace=channels, encoded_image_string=_png(pixels)
        )
        self._add_value(global_step, walltime, tag=tag, image=image)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Pictures beside each other, as one; see add_image."""
        rows = [_pixels(image, dataformats.replace("N", "")) for image in _array(img_tensor)]
        row = np.concatenate(rows, axis=1)
        self.add_image(tag, row, global_step, walltime, "HWC")

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: int | None = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """A figure of matplotlib, or several beside each other; closed afterwards."""
        from matplotlib import pyplot
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        drawn = []
        for one in figure if isinstance(figure, list) else [figure]:
            canvas: Any = FigureCanvasAgg(one)
            canvas.draw()
            drawn.append(np.asarray(canvas.buffer_rgba()))
            if close:
                pyplot.close(one)
        self.add_image(tag, np.concatenate(drawn, axis=1), global_step, walltime, "HWC")

    def add_text(
        self,
        tag: str,
        text_string: str,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """A text, shown as Markdown."""
        self._add_value(
            global_step,
            walltime,
            tag=f"{tag}/text_summary",
            metadata=text_metadata.create_summary_metadata(tag, ""),
            tensor=tensor_util.make_tensor_proto(np.array([text_string.encode()], dtype=object)),
        )

    def add_hparams(
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Any = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Settings of a run and what came of it, in a folder inside this one."""
        writer = SummaryWriter(f"{self.log_dir}/{run_name or time.time()}")
        writer._add(hparams.hparams_pb(dict(hparam_dict)), None, None)
        for tag, value in metric_dict.items():
            writer.add_scalar(tag, value, global_step)
        writer.close()

    def add_graph(self, model: Any, *args: Any, **kwargs: Any) -> None:
        """Raises:
        NotImplementedError: Flambeau makes no graphs of modules.
        """
        raise NotImplementedError(
            "SummaryWriter.add_graph(): Flambeau does not trace programs, so that there is no "
            "graph of a module"
        )

    def flush(self) -> None:
        """Writes what waits in memory."""
        for writer in (self._file, *self._others.values()):
            writer.flush()

    def close(self) -> None:
        """Writes what waits, and closes the files."""
        for writer in (self._file, *self._others.values()):
            writer.close()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _array(values: Any) -> Any:
    return values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)


def _pixels(image: Any, dimensions: str) -> Any:
    """uint8, of height, width and channels."""
    if sorted(dimensions) not in (["C", "H", "W"], ["H", "W"]) or image.ndim != len(dimensions):
        raise ValueError(
            f"SummaryWriter: an image of shape {image.shape} has no dimensions {dimensions!r}"
        )
    order = [dimensions.index(letter) for letter in "HWC" if letter in dimensions]
    image = image.transpose(order)
    if image.ndim == 2:
        image = image[..., None]
    if image.dtype != np.uint8:
        image = (image.clip(0, 1) * 255).round().astype(np.uint8)
    return image


def _png(pixels: Any) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels.squeeze(-1) if pixels.shape[-1] == 1 else pixels).save(file, "PNG")
    return file.getvalue()
