"""What a file names, found without making anything of it."""

from __future__ import annotations

import os
from functools import partial
from typing import IO

from flambeau.serialization import allowed


def get_unsafe_globals_in_checkpoint(f: str | os.PathLike[str] | IO[bytes]) -> list[str]:
    """The names in a file that `load` with `weights_only=True` would refuse.

    Args:
        f: as of `load`.

    Returns:
        Full names, each once, in the order of the file; what `add_safe_globals` allows now is not
        among them.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> flambeau.save(flambeau.ones(2), file)
        >>> _ = file.seek(0)
        >>> flambeau.serialization.get_unsafe_globals_in_checkpoint(file)
        []
    """
    from flambeau.serialization import legacy, names, tar_format, zip_format, zip_reader
    from flambeau.serialization.problems import UnreadableFileError
    from flambeau.serialization.source import opened
    from flambeau.serialization.stream import Stream
    from flambeau.serialization.survey import Survey

    with opened(f, mapping=False) as source:
        if source.read(0, min(4, source.size)) == zip_reader.SIGNATURE:
            archive = zip_reader.ZipReader(source)
            content = archive.read(zip_format.find_pickle(archive, source.name))
            stream = Stream.over(content)
        elif tar_format.begins(source):
            places = tar_format.members(source)
            if "pickle" not in places:
                raise UnreadableFileError(source.name, "the tar archive has no 'pickle'")
            stream = Stream(source.read, *places["pickle"])
        elif legacy.begins(source):
            stream = Stream(source.read, 0, source.size)
            legacy.read_head(source, stream)
        else:
            raise UnreadableFileError(f"{source.name} is not a file written by flambeau.save")
        survey = Survey(source.name, stream, find=partial(names.find, allowed=allowed.names()))
        survey.load()
        source.end = source.size
    return list(survey.refused)
