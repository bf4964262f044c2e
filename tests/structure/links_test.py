"""links_test.py SOURCE: each link of a document to a file, or to a heading of a file, leads somewhere."""

import glob
import os
import re
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return re.sub(r"^```.*?^```", "", file.read(), flags=re.M | re.S)


def headings(path):
    """The names by which links reach the headings of a page, as GitHub makes them."""
    for heading in re.findall(r"^#+ (.*)$", read(path), re.M):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        yield re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def main():
    os.chdir(sys.argv[1])
    pages = glob.glob("*.md") + glob.glob("proto/*.md") + glob.glob("docs/**/*.md", recursive=True)
    links = [(page, *link.partition("#")[::2]) for page in pages for link in re.findall(r"\]\(([^)\s]+)\)", read(page))
             if "://" not in link]
    assert len(links) > 100, "these are not the documents"
    faults = []
    for page, path, heading in links:
        target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if not os.path.exists(target):
            faults.append(f"{page}: there is no {target}")
        elif heading and heading not in headings(target):
            faults.append(f"{page}: {target} has no heading #{heading}")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
