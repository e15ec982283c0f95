// What Netron's own readers show of files, as JSON: node netron.mjs FOLDER-OF-NETRON FILE...
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, ...files] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(path.join(folder, name)));
const base = await load('base.js');
const view = await load('view.js');

// What a reader asks of the program around it.
class File {
    constructor(file) {
        this.identifier = path.basename(file);
        this.stream = new base.BinaryStream(new Uint8Array(fs.readFileSync(file)));
        this.entries = new Map();
        this.errors = [];
    }
    async require(id) { return load(`${id}.js`); }
    async asset(name) { return fs.promises.readFile(path.join(folder, name), 'utf-8'); }
    async fetch(name) { throw new Error(`asks for ${name}`); }
    error(error) { this.errors.push(String(error)); }
}

const host = { environment: () => null, event: () => {}, require: (id) => load(`${id}.js`), exception: (error) => { throw error; } };
const shown = {};
for (const file of files) {
    const context = new File(file);
    const model = await new view.ModelFactoryService(host).open(context);
    const tensors = [];
    for (const graph of model.modules || model.graphs) {
        for (const node of graph.nodes) {
            for (const input of node.inputs) {
                for (const value of input.value || []) {
                    const tensor = value && value.initializer;
                    if (tensor) {
                        tensors.push([node.name, tensor.name || value.name, tensor.type.dataType, tensor.type.shape.dimensions.map(Number)]);
                    }
                }
            }
        }
    }
    shown[path.basename(file)] = { format: model.format, tensors, errors: context.errors };
}
console.log(JSON.stringify(shown));
