// A small AMQP 1.0 broker on rhea, over TCP and WebSocket, plain and TLS: tls_broker.js KEY_AND_CERT.
// Prints its ports as JSON: {amqp, amqps, ws, wss}. Finds rhea and ws in NODE_PATH.
const fs = require('fs');
const http = require('http');
const https = require('https');
const rhea = require('rhea');
const WebSocket = require('ws');

const pem = fs.readFileSync(process.argv[2]);
const container = rhea.create_container({receiver_options: {credit_window: 100}});
const queues = {};
const queue = (name) => queues[name] || (queues[name] = {messages: [], senders: []});

function pump(name) {
  const {messages, senders} = queue(name);
  for (const sender of senders) {
    while (messages.length && sender.sendable()) sender.send(messages.shift());
  }
}

container.sasl_server_mechanisms.enable_anonymous();
container.on('sender_open', ({sender}) => {
  sender.set_source({address: sender.source.address});
  queue(sender.source.address).senders.push(sender);
});
container.on('receiver_open', ({receiver}) => {
  receiver.set_target({address: receiver.target.address});
});
container.on('sendable', ({sender}) => pump(sender.source.address));
container.on('message', ({receiver, message}) => {
  queue(receiver.target.address).messages.push(message);
  pump(receiver.target.address);
});
container.on('disconnected', ({connection}) => {
  for (const name in queues) {
    queues[name].senders = queues[name].senders.filter((s) => s.connection !== connection);
  }
});

const tls = {transport: 'tls', key: pem, cert: pem};
const web = {ws: http.createServer(), wss: https.createServer({key: pem, cert: pem})};
for (const server of Object.values(web)) {
  const sockets = new WebSocket.Server({server, perMessageDeflate: {threshold: 0}, handleProtocols: () => 'amqp'});
  sockets.on('connection', (socket) => container.websocket_accept(socket));
  server.listen(0, '127.0.0.1');
}
const servers = {
  amqp: container.listen({port: 0, host: '127.0.0.1'}),
  amqps: container.listen({port: 0, host: '127.0.0.1', ...tls}),
  ...web,
};
let missing = Object.keys(servers).length;
for (const server of Object.values(servers)) {
  server.on('listening', () => {
    if (--missing == 0) {
      const ports = Object.entries(servers).map(([name, each]) => [name, each.address().port]);
      console.log(JSON.stringify(Object.fromEntries(ports)));
    }
  });
}
