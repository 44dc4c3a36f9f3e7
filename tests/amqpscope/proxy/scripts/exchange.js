// Send messages to a queue and take them back, on rhea: exchange.js HOST PORT QUEUE N.
// Prints a digest of what came back.
const crypto = require('crypto');
const rhea = require(process.env.RHEA || 'rhea');

const [host, port, queue, count] = process.argv.slice(2);
const sizes = [0, 1, 100, 5000, 70000];
const container = rhea.create_container();
const digest = crypto.createHash('sha256');
let sent = 0;
let got = 0;

container.on('sendable', (context) => {
  while (context.sender.sendable() && sent < count) {
    const body = String.fromCharCode(97 + (sent % 26)).repeat(sizes[sent % sizes.length]);
    context.sender.send({message_id: sent++, body, application_properties: {number: sent}});
  }
});
container.on('message', (context) => {
  digest.update(JSON.stringify([context.message.message_id, context.message.body]));
  if (++got == count) {
    console.log(digest.digest('hex'));
    context.connection.close();
  }
});
container.on('disconnected', (context) => { if (context.error) process.exit(1); });

const connection = container.connect(
  {host, port: +port, username: 'anonymous', reconnect: false});
connection.open_receiver(queue);
connection.open_sender(queue);
