"""torch-geometric: six kinds of graph layers, trained; batches of graphs, pooling, loaders."""

import torch
from filled import filled, shown, trained
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import (
    GATConv,
    GCNConv,
    GINConv,
    GraphConv,
    SAGEConv,
    TransformerConv,
    global_max_pool,
    global_mean_pool,
)
from torch_geometric.utils import (
    add_self_loops,
    degree,
    dense_to_sparse,
    softmax,
    to_dense_adj,
    to_undirected,
)

edges = to_undirected(torch.tensor([[0, 1, 2, 3, 0, 5], [1, 2, 3, 4, 3, 4]]))
x = torch.sin(torch.arange(6 * 4).float()).view(6, 4)
classes = torch.tensor([0, 1, 1, 0, 2, 2])
print(edges.tolist(), degree(edges[0]).tolist(), add_self_loops(edges)[0].shape[1])
shown("dense", to_dense_adj(edges), dense_to_sparse(to_dense_adj(edges)[0])[1])
shown("softmax", softmax(torch.arange(edges.shape[1]).float(), edges[0]))


class Network(torch.nn.Module):
    def __init__(self, first, second):
        super().__init__()
        self.first, self.second = first, second

    def forward(self, data):
        hidden = self.first(data.x, data.edge_index).relu()
        return self.second(hidden, data.edge_index)


LAYERS = {
    "gcn": (GCNConv(4, 8), GCNConv(8, 3)),
    "gat": (GATConv(4, 4, heads=2), GATConv(8, 3)),
    "sage": (SAGEConv(4, 8), SAGEConv(8, 3, aggr="max")),
    "gin": (GINConv(torch.nn.Linear(4, 8)), GINConv(torch.nn.Linear(8, 3), train_eps=True)),
    "graph": (GraphConv(4, 8), GraphConv(8, 3, aggr="mean")),
    "transformer": (TransformerConv(4, 4, heads=2), TransformerConv(8, 3)),
}
data = Data(x=x, edge_index=edges, y=classes)
loss = torch.nn.CrossEntropyLoss()
for name, layers in LAYERS.items():
    model = filled(Network(*layers))
    shown(name, model(data))
    trained(name, model, lambda model=model: loss(model(data), data.y))

graphs = [Data(x=x[: n + 2], edge_index=edges[:, (edges < n + 2).all(0)]) for n in range(1, 5)]
batch = Batch.from_data_list(graphs)
print(batch.num_graphs, batch.batch.tolist(), batch[1].num_edges)
shown("pools", global_mean_pool(batch.x, batch.batch), global_max_pool(batch.x, batch.batch))
print([part.num_nodes for part in DataLoader(graphs, batch_size=3)])
