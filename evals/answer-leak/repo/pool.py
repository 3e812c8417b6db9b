"""A pool of connections, used by several threads."""

import threading
from collections import deque


class Pool:
    def __init__(self, connections):
        self.lock = threading.Condition()
        self.free = deque(connections)
        self.lent = set()

    def take(self, timeout=None):
        """A connection that nobody else has."""
        with self.lock:
            if not self.lock.wait_for(lambda: self.free, timeout):
                raise TimeoutError("no connection is free")
            connection = self.free.popleft()
            self.lent.add(connection)
            return connection

    def give_back(self, connection):
        """Takes a connection back, once."""
        with self.lock:
            if connection not in self.lent:
                return
            self.lent.remove(connection)
            self.free.append(connection)
            self.lock.notify()

    def try_take(self):
        """A connection if one is free, else None."""
        with self.lock:
            if not self.free:
                return None
            connection = self.free.popleft()
            self.lent.add(connection)
            return connection

    def renew(self, old, connect):
        """Another connection for one that broke."""
        with self.lock:
            self.lent.discard(old)
        new = connect()
        with self.lock:
            self.lent.add(new)
            self.free.append(new)
            self.lock.notify()
        return new

    def retire(self, connection):
        """Takes a connection out for good."""
        with self.lock:
            if connection in self.lent:
                self.lent.remove(connection)
            elif connection in self.free:
                self.free.remove(connection)

    def idle(self):
        """How many are free."""
        with self.lock:
            return len(self.free)
