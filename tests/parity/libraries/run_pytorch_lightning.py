"""pytorch-lightning: a module with callbacks and a trainer, that stops, is saved and goes on."""

import logging
import tempfile
import warnings

import pytorch_lightning as pl
import torch
from filled import filled
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
x = torch.sin(torch.arange(96 * 4).float()).view(96, 4)
data = TensorDataset(x, (x.sum(1) > 0).long())


class Model(pl.LightningModule):
    def __init__(self, hidden=8, lr=0.1):
        super().__init__()
        self.save_hyperparameters()
        self.net = filled(nn.Sequential(nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, 2)))
        self.losses = []

    def training_step(self, batch, index):
        inputs, targets = batch
        loss = nn.functional.cross_entropy(self.net(inputs), targets)
        self.log("train_loss", loss, on_epoch=True)
        self.losses.append(round(loss.item(), 5))
        return loss

    def validation_step(self, batch, index):
        inputs, targets = batch
        self.log("loss", nn.functional.cross_entropy(self.net(inputs), targets))

    def predict_step(self, batch, index):
        return self.net(batch[0]).softmax(1)

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), self.hparams.lr, momentum=0.9)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)]


with tempfile.TemporaryDirectory() as folder:
    kept = ModelCheckpoint(folder, monitor="loss", save_last=True)
    options = dict(accelerator="cpu", devices=1, logger=False, enable_progress_bar=False)
    options |= dict(enable_model_summary=False, gradient_clip_val=1.0, default_root_dir=folder)
    trainer = pl.Trainer(max_epochs=4, callbacks=[kept, EarlyStopping("loss")], **options)
    model = Model()
    trainer.fit(model, DataLoader(data, 32), DataLoader(data, 48))
    print("losses", *model.losses)
    print("best", round(kept.best_model_score.item(), 5), trainer.global_step)
    again = Model.load_from_checkpoint(kept.best_model_path)
    found = torch.cat(trainer.predict(again, DataLoader(data, 32)))
    print("predicts", round(found.max().item(), 5), again.hparams.hidden)
    trainer = pl.Trainer(max_epochs=6, accumulate_grad_batches=3, callbacks=[kept], **options)
    model = Model()
    trainer.fit(model, DataLoader(data, 16), DataLoader(data, 48), ckpt_path=kept.last_model_path)
    print("goes on", *model.losses[-3:], trainer.current_epoch)
