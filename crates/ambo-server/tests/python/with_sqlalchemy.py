"""What SQLAlchemy does: tables made and written by its models."""

import datetime
import sys

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

URL = sys.argv[1].replace("postgresql://", "postgresql+psycopg://")


class Base(DeclarativeBase):
    pass


class Customer(Base):
    __tablename__ = "customers"
    id: Mapped[int] = mapped_column(sa.Integer, sa.Identity(), primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(50), unique=True)
    born: Mapped[datetime.date | None]
    orders: Mapped[list["Order"]] = relationship(back_populates="customer")


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(sa.BigInteger, sa.Identity(), primary_key=True)
    customer_id: Mapped[int] = mapped_column(sa.ForeignKey("customers.id"))
    note: Mapped[str | None] = mapped_column(index=True)
    customer: Mapped[Customer] = relationship(back_populates="orders")


def reflect(engine):
    """What SQLAlchemy finds out about tables, as Alembic does."""
    found = sa.MetaData()
    found.reflect(engine)
    assert sorted(found.tables) == ["customers", "orders"], found.tables
    orders = found.tables["orders"]
    assert [c.name for c in orders.primary_key.columns] == ["id"]
    assert [f.target_fullname for f in orders.c.customer_id.foreign_keys] == ["customers.id"]
    assert isinstance(orders.c.id.type, sa.BigInteger) and orders.c.id.identity is not None
    assert orders.c.note.nullable and not orders.c.customer_id.nullable
    assert [(i.name, i.unique, [c.name for c in i.columns]) for i in orders.indexes] == [("ix_orders_note", False, ["note"])]
    inspector = sa.inspect(engine)
    assert inspector.get_schema_names() == ["information_schema", "public"], inspector.get_schema_names()
    assert inspector.get_unique_constraints("customers")[0]["column_names"] == ["name"]
    name = next(c for c in inspector.get_columns("customers") if c["name"] == "name")
    assert isinstance(name["type"], sa.String) and name["type"].length == 50, name
    assert inspector.has_table("orders") and not inspector.has_table("none")
    assert inspector.get_view_names() == []


def main():
    engine = sa.create_engine(URL)
    Base.metadata.create_all(engine)
    Base.metadata.create_all(engine)
    reflect(engine)
    with Session(engine) as session:
        ada = Customer(name="Ada", born=datetime.date(1815, 12, 10))
        ada.orders = [Order(note="x"), Order(note=None)]
        session.add_all([ada, Customer(name="Bo")])
        session.commit()
        found = session.scalars(sa.select(Customer).order_by(Customer.name)).all()
        assert [(c.name, len(c.orders)) for c in found] == [("Ada", 2), ("Bo", 0)]
        ada.orders[0].note = "y"
        session.commit()
        notes = session.execute(sa.select(Order.note, sa.func.count()).group_by(Order.note).order_by(Order.note.nulls_last())).all()
        assert notes == [("y", 1), (None, 1)], notes
        session.add(Customer(name="Ada"))
        try:
            session.commit()
            raise AssertionError("the name was there")
        except sa.exc.IntegrityError:
            session.rollback()
    engine.dispose()


main()
