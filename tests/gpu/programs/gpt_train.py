"""A training of a small GPT, as the picture in the README shows it."""
import sys

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, LAYERS, WORDS, LENGTH, BATCH = 1024, 16, 6, 8192, 512, 16


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        heads = (BATCH, LENGTH, HEADS, WIDTH // HEADS)
        q, k, v = (part.view(heads).transpose(1, 2) for part in self.project(x).split(WIDTH, dim=2))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])
        self.attention = Attention()
        self.widen, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        x = x + self.attention(self.norms[0](x))
        return x + self.narrow(F.gelu(self.widen(self.norms[1](x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        x = self.words(words) + self.places(torch.arange(LENGTH, device=words.device))
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def step(model, optimizer, words):
    scores = model(words[:, :-1])
    loss = F.cross_entropy(scores.flatten(0, 1), words[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def train(steps):
    model = Gpt().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(steps):
        words = torch.randint(WORDS, (BATCH, LENGTH + 1), device='cuda')
        loss = step(model, optimizer, words)
    print('loss %.3f' % loss.item())


if __name__ == '__main__':
    train(int(sys.argv[1]))
