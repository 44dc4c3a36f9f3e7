// Send messages to a queue over a WebSocket and take them back: web_exchange.js URL QUEUE N.
// Prints a digest of what came back. Finds rhea and ws in NODE_PATH.
const crypto = require('crypto');
const rhea = require('rhea');
const WebSocket = require('ws');

const [url, queue, count] = process.argv.slice(2);
const sizes = [0, 1, 100, 5000, 70000];
const container = rhea.create_container();
const digest = crypto.createHash('sha256');
let sent = 0;
let got = 0;

container.on('sendable', ({sender}) => {
  while (sender.sendable() && sent < count) {
    const body = String.fromCharCode(97 + (sent % 26)).repeat(sizes[sent % sizes.length]);
    sender.send({message_id: sent++, body});
  }
});
container.on('message', ({message, connection}) => {
  if (got == count) return;
  digest.update(JSON.stringify([message.message_id, message.body]));
  if (++got == count) {
    console.log(digest.digest('hex'));
    connection.close();
  }
});
container.on('disconnected', ({error}) => {
  if (error) { console.error(error.message); process.exit(1); }
});

const connection = container.connect({
  connection_details: container.websocket_connect(WebSocket)(url, ['amqp']),
  username: 'anonymous',
  reconnect: false,
});
connection.open_receiver(queue);
connection.open_sender(queue);
